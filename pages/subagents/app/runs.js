/** What several views know of a run. */

import { useAction } from "./actions.js";
import { useApp } from "./services.js";

/** States of a run that is not over. */
export const UNDER_WAY = new Set(["queued", "running", "waiting"]);

/** Who does a run: its agent, or what kind of one-off it is. */
export function doer(t, run) {
    return run.agent ?? t(`run.kind.${run.kind}`);
}

/**
 * Stopping runs, each after a question.
 * @returns {{busy: boolean, stop: (run: {session: string, run_id: string}) => Promise<boolean>}} `stop` says whether it was done.
 */
export function useStopping() {
    const { t, client, notices } = useApp();
    const action = useAction();
    async function stop({ session, run_id }) {
        const question = { title: t("run.stop.ask"), text: t("run.stop.ask.text"), action: t("run.stop"), danger: true };
        if (!(await notices.ask(question))) return false;
        return action.run(() => client.post("runs/cancel", { session, run_id }), t("run.stop.done"));
    }
    return {
        get busy() {
            return action.busy;
        },
        stop,
    };
}
