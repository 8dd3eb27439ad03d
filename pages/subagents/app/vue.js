/**
 * Vue for the page, and `html`: templates without a compiler.
 *
 * html`<${Panel} title=${title}>text<//>` makes Vue nodes. Attributes are Vue's: `onClick`, `class`
 * (text, list or object), `style` (an object; the content security policy forbids text), `key`, `ref`.
 * Children of a component are its default slot; a slot that is given values is one child, a function; several
 * slots are one child, an object of functions. Values are only ever text: there is no way to put in markup.
 */

import htm from "../vendor/htm.js";
import { h } from "../vendor/vue.js";

export {
    Teleport,
    Transition,
    TransitionGroup,
    computed,
    createApp,
    h,
    inject,
    nextTick,
    onBeforeUnmount,
    onMounted,
    onUnmounted,
    onUpdated,
    provide,
    reactive,
    readonly,
    ref,
    shallowReactive,
    shallowRef,
    toRaw,
    triggerRef,
    unref,
    useId,
    watch,
    watchEffect,
} from "../vendor/vue.js";

/** Whether a child is a component's object of slots. */
function isSlots(child) {
    return (
        child !== null &&
        typeof child === "object" &&
        !Array.isArray(child) &&
        child.__v_isVNode !== true
    );
}

/** What htm calls for each element; `this` is htm's piece of the template. */
function node(type, props, ...children) {
    // htm keeps nodes that hold nothing that changes and gives them out again; Vue wants new ones.
    this[0] = 3;
    if (typeof type === "string") return h(type, props, children);
    if (children.length === 0) return h(type, props);
    if (children.length === 1) {
        const [child] = children;
        if (typeof child === "function") return h(type, props, { default: child });
        if (isSlots(child)) return h(type, props, child);
    }
    return h(type, props, { default: () => children });
}

export const html = htm.bind(node);
