/**
 * The types of the page, for readers and editors. A script without imports: its types are known everywhere.
 * What the API gives (RunRow, AgentCard, ...) is described by its OpenAPI document at /openapi.
 *
 * @typedef {object} Client
 * @property {(path: string, query?: object) => Promise<any>} get Throws ApiError.
 * @property {(path: string, body?: object) => Promise<any>} post Throws ApiError.
 * @property {(path: string, query: object, listener: StreamListener) => () => void} stream Returns what ends it.
 *
 * @typedef {object} StreamListener
 * @property {() => void} onOpen
 * @property {(event: {kind: string, id: string, data: any}) => void} onEvent
 * @property {(error: Error|null) => void} onEnd Once; null: it ended in order.
 *
 * @typedef {object} EventRow
 * @property {number} id
 * @property {string} session
 * @property {string|null} run_id
 * @property {string} kind As `run.changed`, `agent.changed`, `task.start`, `tool.finished`.
 * @property {string} at
 * @property {Record<string, any>} payload
 *
 * @typedef {object} Host
 * @property {object|null} bridge
 * @property {boolean} framed Inside of AstrBot's WebUI.
 * @property {{locale: string|null, dark: boolean}} context What the WebUI says; reactive.
 *
 * @typedef {object} Memory
 * @property {(key: string) => string|undefined} get
 * @property {(key: string, value: string) => void} set
 *
 * @typedef {object} Place
 * @property {string[]} parts
 * @property {Record<string, string>} query
 *
 * @typedef {object} Route
 * @property {string} name
 * @property {string} path As `session/:session`; the params are handed to the view as props, with `query`.
 * @property {() => Promise<object>} load Gives the view's component.
 * @property {(params: object) => Crumb[]} [crumbs] What stands above it; keys of texts or plain texts.
 * @property {{icon: string, title: string}} [nav] It has an entry in the navigation; `title` is a key of texts.
 * @property {string} [under] Name of the route whose entry is marked while this one is shown.
 *
 * @typedef {object} Crumb
 * @property {string} [key] Key of a text.
 * @property {string} [text] Or the text.
 * @property {string} [href]
 *
 * @typedef {object} Match
 * @property {Route} route
 * @property {Record<string, string>} params
 * @property {Record<string, string>} query
 *
 * @typedef {object} Router
 * @property {Route[]} routes
 * @property {Match|null} current Reactive.
 * @property {(parts: string[], query?: object) => void} go
 * @property {(query: object) => void} refine Changes the query of the current place.
 * @property {(allows: () => Promise<boolean>) => () => void} guard
 *
 * @typedef {object} Texts
 * @property {string} locale
 * @property {Format} format
 * @property {(locale: string) => void} choose
 * @property {(key: string, values?: Record<string, string|number>) => string} t
 * @property {(key: string) => boolean} has
 *
 * @typedef {object} Format
 * @property {(value: number) => string} number
 * @property {(value: number) => string} short
 * @property {(value: number) => string} percent
 * @property {(iso: string) => string} time
 * @property {(iso: string) => string} day
 * @property {(iso: string) => string} moment
 * @property {(iso: string, now: number) => string} ago
 * @property {(milliseconds: number) => string} duration
 *
 * @typedef {object} Notices
 * @property {{toasts: object[], question: object|null}} state
 * @property {HTMLDialogElement[]} layers The open dialogs, the topmost last.
 * @property {(text: string) => void} done
 * @property {(error: Error|string) => void} failed
 * @property {(error: Error) => string} errorText
 * @property {(question: {title: string, text?: string, action: string, danger?: boolean}) => Promise<boolean>} ask
 * @property {(id: number) => void} dismiss
 *
 * @typedef {object} Services
 * @property {Host} host
 * @property {Memory} memory
 * @property {object} theme
 * @property {Texts} texts
 * @property {Texts["t"]} t
 * @property {{signedIn: boolean|null}} account
 * @property {Client} client
 * @property {object} live
 * @property {Router} router
 * @property {Notices} notices
 * @property {{use: () => {value: number}}} clock
 */
