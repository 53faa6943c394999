// The two axes: which tokens are shown, in order. Positions count what is shown;
// indices count the page's tokens. They differ where special tokens are hidden.
{
  class Axis {
    constructor(tokens, special, hide) {
      this.tokens = tokens;
      this.special = new Set(special);
      this.indices = null;
      if (hide && special.length > 0) {
        this.indices = Int32Array.from(tokens.keys()).filter(n => !this.special.has(n));
      }
      this.size = this.indices ? this.indices.length : tokens.length;
    }

    at(position) { return this.indices ? this.indices[position] : position; }

    // The position of an index, or that of the next one shown if it is hidden.
    find(index) {
      if (!this.indices) return index;
      let low = 0;
      let high = this.indices.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.indices[middle] < index) low = middle + 1; else high = middle;
      }
      return Math.min(low, this.indices.length - 1);
    }

    // The place of an index among `count` positions from `first`; -1 if it is not there.
    place(index, first, count) {
      const position = this.find(index);
      return position >= first && position < first + count && this.at(position) === index ?
          position - first : -1;
    }

    slice(from, count) {
      return Int32Array.from({length: count}, (_, n) => this.at(from + n));
    }
  }

  const made = new Map();
  function axis(name) {
    const {page, state} = headwise;
    const key = name + state.get().hide;
    if (!made.has(key)) {
      made.set(key, new Axis(page[name + '_tokens'], page[name + '_special'],
          state.get().hide));
    }
    return made.get(key);
  }

  headwise.axes = {queries: () => axis('query'), keys: () => axis('key')};
}
