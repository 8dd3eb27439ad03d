/** All words in one language; each part is a flat object. */

import overview from "./ru-RU/overview.js";
import session from "./ru-RU/session.js";
import run from "./ru-RU/run.js";
import lists from "./ru-RU/lists.js";
import usage from "./ru-RU/usage.js";
import settings from "./ru-RU/settings.js";
import shell from "./ru-RU/shell.js";

export default { ...shell, ...overview, ...session, ...run, ...lists, ...usage, ...settings };
