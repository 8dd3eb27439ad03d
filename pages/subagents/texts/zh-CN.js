/** All words in one language; each part is a flat object. */

import overview from "./zh-CN/overview.js";
import session from "./zh-CN/session.js";
import run from "./zh-CN/run.js";
import lists from "./zh-CN/lists.js";
import usage from "./zh-CN/usage.js";
import settings from "./zh-CN/settings.js";
import shell from "./zh-CN/shell.js";

export default { ...shell, ...overview, ...session, ...run, ...lists, ...usage, ...settings };
