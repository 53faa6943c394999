// The two axes: which tokens are shown, in order. Positions count what is shown;
// indices count the page's tokens. They differ where tokens are hidden: special ones, or
// those of the other sentence of a pair.
{
  class Axis {
    constructor(tokens, hidden) {
      this.tokens = tokens;
      this.hidden = hidden;  // a Set of indices
      this.indices = null;
      if (hidden.size > 0) {
        this.indices = Int32Array.from(tokens.keys()).filter(n => !hidden.has(n));
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

  const made = new WeakMap();  // page -> Map
  function hiddenTokens(page, special, part) {
    const others = part === null ? [] :
      Array.from(page.token_types.keys()).filter(n => page.token_types[n] !== part);
    return new Set([...special, ...others]);
  }

  function axis(page, name) {
    const {hide} = headwise.state.get();
    const part = headwise.parts.shown(page, name);
    if (!made.has(page)) made.set(page, new Map());
    const known = made.get(page);
    const key = name + hide + part;
    if (!known.has(key)) {
      known.set(key, new Axis(page[name + '_tokens'],
          hiddenTokens(page, hide ? page[name + '_special'] : [], part)));
    }
    return known.get(key);
  }

  // Of the current document, or of another one.
  headwise.axes = {
    queries: (page = headwise.page) => axis(page, 'query'),
    keys: (page = headwise.page) => axis(page, 'key'),
  };
}
