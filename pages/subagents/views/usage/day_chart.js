/** Tokens by day as stacked bars, and the same figures as a table for who reads rather than looks. */

import { html, onMounted, onUnmounted, shallowRef, watch } from "../../app/vue.js";
import { useApp } from "../../app/services.js";

const PARTS = [
    ["input", "--accent-mark"],
    ["cached", "--quiet-mark"],
    ["output", "--good-mark"],
];

/** The library is large and only needed here. It is no module: it leaves `Chart` behind. */
async function chartLibrary() {
    await import("../../vendor/chart.js");
    return globalThis.Chart;
}

export const DayChart = {
    props: { days: { type: Array, required: true } },
    setup(props) {
        const { t, texts, theme } = useApp();
        const canvas = shallowRef(null);
        const isTable = shallowRef(false);
        let chart = null;
        let over = false;

        async function draw() {
            const Chart = await chartLibrary();
            if (over || canvas.value === null) return;
            chart?.destroy();
            chart = new Chart(canvas.value, described(props.days, t, texts.format));
        }
        onMounted(draw);
        watch(() => [props.days, texts.locale, theme.dark, isTable.value], draw, { flush: "post" });
        onUnmounted(() => {
            over = true;
            chart?.destroy();
        });

        return () => html`
            <div>
                ${!isTable.value &&
                html`<div class="day-chart">
                    <canvas ref=${canvas} role="img" aria-label=${t("usage.chart", { count: props.days.length })}></canvas>
                </div>`}
                <button
                    type="button"
                    class="link"
                    aria-pressed=${isTable.value ? "true" : "false"}
                    onClick=${() => (isTable.value = !isTable.value)}
                >
                    ${t(isTable.value ? "usage.as_chart" : "usage.as_table")}
                </button>
                ${isTable.value && html`<${DayTable} days=${props.days} />`}
            </div>
        `;
    },
};

const DayTable = {
    props: { days: { type: Array, required: true } },
    setup(props) {
        const { t, texts } = useApp();
        const columns = ["runs", "failed", "input", "cached", "output"];
        return () => html`
            <div class="table-scroll">
                <table class="table">
                    <caption class="sr-only">${t("usage.by_day")}</caption>
                    <thead>
                        <tr>
                            <th scope="col">${t("usage.day")}</th>
                            ${columns.map((key) => html`<th key=${key} scope="col" class="number">${t(`usage.${key}`)}</th>`)}
                        </tr>
                    </thead>
                    <tbody>
                        ${props.days.map(
                            (day) => html`
                                <tr key=${day.day}>
                                    <th scope="row">${dayName(day.day, texts.locale)}</th>
                                    ${columns.map((key) => html`<td key=${key} class="number">${texts.format.number(day[key])}</td>`)}
                                </tr>
                            `,
                        )}
                    </tbody>
                </table>
            </div>
        `;
    },
};

/** The chart as the library takes it; colours are those of the theme now. */
function described(days, t, format) {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const text = { color: colour("--muted"), font: { family: style.getPropertyValue("--font") } };
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    return {
        type: "bar",
        data: {
            labels: days.map((day) => dayName(day.day, document.documentElement.lang)),
            datasets: PARTS.map(([key, name]) => ({
                label: t(`usage.${key}`),
                data: days.map((day) => day[key]),
                backgroundColor: colour(name),
                maxBarThickness: 36,
                borderRadius: 2,
            })),
        },
        options: {
            animation: calm ? false : { duration: 250 },
            maintainAspectRatio: false,
            interaction: { mode: "index", intersect: false },
            plugins: {
                legend: { position: "bottom", labels: { ...text, boxWidth: 12, boxHeight: 12 } },
                tooltip: {
                    callbacks: {
                        label: (item) => `${item.dataset.label}: ${format.number(item.raw)}`,
                        footer: ([item]) => t("usage.runs_of_day", { count: days[item.dataIndex].runs }),
                    },
                },
            },
            scales: {
                x: { stacked: true, ticks: { ...text, maxRotation: 0, autoSkipPadding: 12 }, grid: { display: false } },
                y: {
                    stacked: true,
                    beginAtZero: true,
                    ticks: { ...text, precision: 0, callback: (value) => format.short(value) },
                    grid: { color: colour("--line") },
                    border: { display: false },
                },
            },
        },
    };
}

/** Days are counted in UTC, so they are named there. */
function dayName(day, locale) {
    return new Intl.DateTimeFormat(locale, { month: "short", day: "numeric", timeZone: "UTC" }).format(
        new Date(`${day}T00:00:00Z`),
    );
}
