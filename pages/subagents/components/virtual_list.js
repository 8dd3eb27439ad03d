/**
 * A long list of which only what can be seen is in the page; rows may be of any height, which is measured.
 *
 * `<${VirtualList} count=${n} keyOf=${(i) => ...} estimate=${64} label=${...}>${(index) => html`...`}<//>`
 * It scrolls by itself: give it a height by a class. `onRange(from, to)` says what is shown (to load what is
 * not there yet). `toEnd`: it stays at its end while rows are added, as long as the reader is there.
 * With the method `reveal(index)` (by `ref`) it scrolls to a row.
 */

import { h, nextTick, onMounted, onUnmounted, ref, shallowRef, watch } from "../app/vue.js";
import { Heights } from "./heights.js";

const AROUND = 400;
const AT_END = 40;

export const VirtualList = {
    props: {
        count: { type: Number, required: true },
        keyOf: { type: Function, default: (index) => index },
        estimate: { type: Number, default: 56 },
        label: { type: String, required: true },
        toEnd: Boolean,
    },
    emits: ["range"],
    setup(props, { slots, emit, expose }) {
        const scroller = ref(null);
        const view = shallowRef({ top: 0, height: 600 });
        const version = ref(0);
        const heights = new Heights(props.estimate);
        let atEnd = props.toEnd;
        const sizes = new ResizeObserver(measured);
        const frame = new ResizeObserver(look);

        function look() {
            const element = scroller.value;
            if (element === null) return;
            const { scrollTop, clientHeight, scrollHeight } = element;
            atEnd = props.toEnd && scrollHeight - scrollTop - clientHeight < AT_END;
            if (view.value.top !== scrollTop || view.value.height !== clientHeight) {
                view.value = { top: scrollTop, height: clientHeight };
            }
        }

        function measured(entries) {
            const element = scroller.value;
            let above = 0;
            let changed = false;
            for (const { target } of entries) {
                const index = Number(target.dataset.index);
                const key = props.keyOf(index);
                const height = target.offsetHeight;
                if (height === 0 || !target.isConnected) continue;
                const before = heights.of(key);
                if (before === height) continue;
                if (heights.top(index) < element.scrollTop) above += height - before;
                heights.set(key, height);
                changed = true;
            }
            if (!changed) return;
            version.value += 1;
            // What is being read stays where it is.
            nextTick(() => (atEnd ? toEnd() : above !== 0 && (element.scrollTop += above)));
        }

        function toEnd() {
            if (scroller.value !== null) scroller.value.scrollTop = scroller.value.scrollHeight;
        }

        const observe = (node) => node.el && sizes.observe(node.el);
        const forget = (node) => node.el && sizes.unobserve(node.el);

        heights.arrange(props.count, props.keyOf);
        watch(
            () => [props.count, props.keyOf],
            () => {
                heights.arrange(props.count, props.keyOf);
                version.value += 1;
                if (atEnd) nextTick(toEnd);
            },
        );
        onMounted(() => {
            frame.observe(scroller.value);
            look();
            if (props.toEnd) nextTick(toEnd);
        });
        onUnmounted(() => {
            sizes.disconnect();
            frame.disconnect();
        });
        expose({
            toEnd,
            reveal: (index) => {
                atEnd = false;
                scroller.value.scrollTop = heights.top(index);
            },
        });

        let told = "";
        function shown() {
            const { top, height } = view.value;
            const from = heights.at(top - AROUND);
            const to = Math.min(props.count, heights.at(top + height + AROUND) + 1);
            const range = `${from}-${to}`;
            if (range !== told) {
                told = range;
                queueMicrotask(() => emit("range", from, to));
            }
            return [from, to];
        }

        function row(index) {
            return h(
                "div",
                {
                    key: props.keyOf(index),
                    class: "virtual-row",
                    role: "listitem",
                    "aria-setsize": props.count,
                    "aria-posinset": index + 1,
                    "data-index": index,
                    style: { transform: `translateY(${heights.top(index)}px)` },
                    onVnodeMounted: observe,
                    onVnodeBeforeUnmount: forget,
                },
                slots.default(index),
            );
        }

        return () => {
            void version.value;
            const [from, to] = shown();
            const rows = [];
            for (let index = from; index < to; index += 1) rows.push(row(index));
            const space = { class: "virtual-space", role: "list", "aria-label": props.label };
            return h("div", { ref: scroller, class: "virtual", tabindex: 0, role: "group", "aria-label": props.label, onScroll: look }, [
                h("div", { ...space, style: { height: `${heights.total}px` } }, rows),
            ]);
        };
    },
};
