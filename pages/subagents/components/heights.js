/** Where the rows of a long list begin: measured heights by key, an estimate for the others. */
export class Heights {
    #estimate;
    #measured = new Map();
    #keys = [];
    #tops = [0];
    /** From this row on the tops have to be reckoned anew. */
    #dirty = 0;

    /** @param {number} estimate Pixels of a row that was never seen. */
    constructor(estimate) {
        this.#estimate = estimate;
    }

    /** Say which rows there are now. */
    arrange(count, keyOf) {
        const keys = Array.from({ length: count }, (_, index) => keyOf(index));
        let same = 0;
        while (same < count && keys[same] === this.#keys[same]) same += 1;
        this.#keys = keys;
        this.#dirty = Math.min(this.#dirty, same);
        this.#tops.length = Math.min(this.#tops.length, same + 1);
    }

    of(key) {
        return this.#measured.get(key) ?? this.#estimate;
    }

    set(key, height) {
        this.#measured.set(key, height);
        const index = this.#keys.indexOf(key);
        if (index >= 0) this.#dirty = Math.min(this.#dirty, index);
    }

    /** Pixels above a row. */
    top(index) {
        this.#reckon();
        return this.#tops[Math.min(index, this.#keys.length)];
    }

    /** Pixels of all rows. */
    get total() {
        return this.top(this.#keys.length);
    }

    /** The row that covers a place. */
    at(pixels) {
        this.#reckon();
        let low = 0;
        let high = this.#keys.length;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (this.#tops[middle + 1] <= pixels) low = middle + 1;
            else high = middle;
        }
        return Math.max(0, Math.min(low, this.#keys.length - 1));
    }

    #reckon() {
        const count = this.#keys.length;
        if (this.#dirty >= count && this.#tops.length === count + 1) return;
        for (let index = this.#dirty; index < count; index += 1) {
            this.#tops[index + 1] = this.#tops[index] + this.of(this.#keys[index]);
        }
        this.#tops.length = count + 1;
        this.#dirty = count;
    }
}
