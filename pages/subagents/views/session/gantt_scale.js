/** Where on the chart a time is, and what its axis says. */

import { UNDER_WAY } from "../../app/runs.js";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
    ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
    ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
    ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
    ...[1, 2, 7, 14, 30, 90].map((count) => count * DAY),
];
/** Pixels between two marks of the axis at least. */
const APART = 96;
const SHORTEST = 10 * SECOND;
const MARGIN = 0.02;

/** Pixels of a row. */
export const ROW = 34;

/**
 * One task with its times as milliseconds.
 * @param {object} item Of /timeline.
 * @param {number} now The present; what is under way lasts until then.
 */
export function barOf(item, now) {
    const created = Date.parse(item.created_at);
    const finished = item.finished_at ? Date.parse(item.finished_at) : null;
    const end = Math.max(created, finished ?? now);
    const started = item.started_at ? Date.parse(item.started_at) : null;
    const waits = item.waits.map(([from, to]) => [Date.parse(from), to ? Date.parse(to) : end]);
    const asked = waits.reduce((sum, [from, to]) => sum + Math.max(0, to - from), 0);
    return {
        ...item,
        created,
        started,
        end,
        spans: waits,
        /** Before it began, at work, and waiting for an answer: milliseconds. */
        inLine: (started ?? end) - created,
        atWork: started === null ? 0 : Math.max(0, end - started - asked),
        asked,
    };
}

/** The scale from the first to the last moment of some bars, over so many pixels. */
export function scaleOf(bars, now, width) {
    const first = Math.min(...bars.map((bar) => bar.created));
    const last = Math.max(...bars.map((bar) => (UNDER_WAY.has(bar.state) ? now : bar.end)));
    const length = Math.max(SHORTEST, last - first);
    const from = first - length * MARGIN;
    const to = last + length * MARGIN * 2;
    return {
        from,
        to,
        width,
        at: (time) => ((time - from) / (to - from)) * width,
    };
}

/** The times that the axis names: round ones, in the zone of the browser. */
export function marksOf(scale) {
    const perPixel = (scale.to - scale.from) / scale.width;
    const step = STEPS.find((each) => each / perPixel >= APART) ?? STEPS.at(-1);
    const offset = -new Date(scale.from).getTimezoneOffset() * MINUTE;
    const marks = [];
    for (let time = Math.ceil((scale.from + offset) / step) * step - offset; time < scale.to; time += step) marks.push(time);
    return { marks, step };
}

/** How a mark is written. */
export function markFormat(locale, step) {
    if (step >= DAY) return new Intl.DateTimeFormat(locale, { day: "numeric", month: "short" });
    if (step >= HOUR) return new Intl.DateTimeFormat(locale, { weekday: "short", hour: "2-digit", minute: "2-digit" });
    if (step >= MINUTE) return new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit" });
    return new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

/**
 * The curve from the end of one task to the beginning of one that needed it.
 * @param {{x: number, y: number}} from
 * @param {{x: number, y: number}} to
 */
export function curve(from, to) {
    const out = Math.max(14, Math.min(60, Math.abs(to.x - from.x) / 2));
    return `M${from.x} ${from.y}C${from.x + out} ${from.y} ${to.x - out} ${to.y} ${to.x} ${to.y}`;
}
