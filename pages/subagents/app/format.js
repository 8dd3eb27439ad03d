/** Numbers, times and durations as people of a language write them; times in the zone of the browser. */

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Steps of relative times: up to so many seconds, in this unit. */
const RELATIVE = [
    [MINUTE, "second", 1],
    [HOUR, "minute", MINUTE],
    [DAY, "hour", HOUR],
    [30 * DAY, "day", DAY],
];

/** @param {string} locale @returns {Format} */
export function createFormat(locale) {
    const plain = new Intl.NumberFormat(locale);
    const short = new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 });
    const part = new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 0 });
    const time = new Intl.DateTimeFormat(locale, { timeStyle: "medium" });
    const day = new Intl.DateTimeFormat(locale, { dateStyle: "medium" });
    const moment = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium" });
    const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "short" });
    const unit = (value, name) =>
        new Intl.NumberFormat(locale, { style: "unit", unit: name, unitDisplay: "narrow", maximumFractionDigits: 1 }).format(
            value,
        );

    return {
        /** 1234 as "1,234". */
        number: (value) => plain.format(value),
        /** 1234567 as "1.2M". */
        short: (value) => (Math.abs(value) < 10_000 ? plain.format(value) : short.format(value)),
        percent: (value) => part.format(value),
        /** The clock's time of an ISO time. */
        time: (iso) => time.format(new Date(iso)),
        day: (iso) => day.format(new Date(iso)),
        /** Day and time, for titles. */
        moment: (iso) => moment.format(new Date(iso)),
        /** How long ago an ISO time was, seen from `now` (milliseconds); old ones as a day. */
        ago(iso, now) {
            const seconds = (Date.parse(iso) - now) / 1000;
            const distance = Math.abs(seconds);
            for (const [limit, name, size] of RELATIVE) {
                if (distance < limit) return relative.format(Math.round(seconds / size), name);
            }
            return day.format(new Date(iso));
        },
        /** Milliseconds as the one or two largest units: "350ms", "4.2s", "3m 20s", "2h 5m". */
        duration(milliseconds) {
            const seconds = Math.max(0, milliseconds) / 1000;
            if (seconds < 1) return unit(Math.round(seconds * 1000), "millisecond");
            if (seconds < 10) return unit(seconds, "second");
            if (seconds < MINUTE) return unit(Math.floor(seconds), "second");
            if (seconds < HOUR) return pair(unit, seconds, MINUTE, "minute", 1, "second");
            if (seconds < DAY) return pair(unit, seconds, HOUR, "hour", MINUTE, "minute");
            return pair(unit, seconds, DAY, "day", HOUR, "hour");
        },
    };
}

function pair(unit, seconds, large, largeName, small, smallName) {
    const first = Math.floor(seconds / large);
    const second = Math.floor((seconds % large) / small);
    return second === 0 ? unit(first, largeName) : `${unit(first, largeName)} ${unit(second, smallName)}`;
}
