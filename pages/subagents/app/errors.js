/** What can go wrong between the page and the plugin. */

/** An answer of the API that says no, or no answer at all (`code` "unreachable"). */
export class ApiError extends Error {
    /**
     * @param {{code?: string, message?: string, fields?: Record<string, string>}} problem
     * @param {number} [status] HTTP status; 0: not known.
     */
    constructor(problem, status = 0) {
        super(problem.message ?? problem.code ?? "");
        this.name = "ApiError";
        this.code = problem.code ?? "unknown";
        /** What is wrong with single fields, by their keys. */
        this.fields = problem.fields ?? {};
        this.status = status;
    }
}

/** The plugin cannot be reached. */
export function unreachable(reason) {
    return new ApiError({ code: "unreachable", message: String(reason?.message ?? reason ?? "") });
}

/** Whether something was given up on purpose, by an `AbortController`. */
export function isAbort(error) {
    return error?.name === "AbortError";
}
