/** All words in one language; each part is a flat object. */

import overview from "./en-US/overview.js";
import session from "./en-US/session.js";
import run from "./en-US/run.js";
import lists from "./en-US/lists.js";
import usage from "./en-US/usage.js";
import settings from "./en-US/settings.js";
import shell from "./en-US/shell.js";

export default { ...shell, ...overview, ...session, ...run, ...lists, ...usage, ...settings };
