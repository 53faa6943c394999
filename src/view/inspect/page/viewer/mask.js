// Which keys a query may attend to: a range of keys for each query and, if the range has
// holes, a bit for each key. Masked cells are drawn as a pattern, so their value is a
// number that nothing shown has.
{
  const MASKED = -(2 ** 125);   // the query may not attend to this key
  const EMPTY = -(2 ** 126);    // the query has no key
  const PENDING = -(2 ** 127);  // not computed yet
  const masks = new WeakMap();  // page -> Map of its masks, by number

  class Mask {
    constructor(ranges, bits, queries, keys) {
      this.ranges = ranges;
      this.bits = bits;
      this.queries = queries;
      this.keys = keys;
      this.rowBytes = Math.ceil(keys / 8);
      this.empty = new Uint8Array(queries);
      for (let i = 0; i < queries; ++i) this.empty[i] = this.first(i, 0, keys) < 0 ? 1 : 0;
      this.full = !bits && ranges.every((value, n) => value === (n % 2 ? keys : 0));
    }

    begin(i) { return this.ranges[2 * i]; }
    end(i) { return this.ranges[2 * i + 1]; }

    visible(i, j) {
      if (j < this.begin(i) || j >= this.end(i)) return false;
      return !this.bits ||
          (this.bits[i * this.rowBytes + (j >> 3)] >> (j & 7) & 1) === 1;
    }

    // The first key of [from, to) that query i sees, or -1.
    first(i, from, to) {
      const end = Math.min(to, this.end(i));
      let j = Math.max(from, this.begin(i));
      if (!this.bits) return j < end ? j : -1;
      for (; j < end; ++j) {
        if ((j & 7) === 0) {
          while (j + 8 <= end && this.bits[i * this.rowBytes + (j >> 3)] === 0) j += 8;
          if (j >= end) return -1;
        }
        if (this.visible(i, j)) return j;
      }
      return -1;
    }

    // Is there a query that sees some of the keys, but not all?
    hasMasked() {
      for (let i = 0; i < this.queries && !this.full; ++i) {
        if (!this.empty[i] && (this.begin(i) > 0 || this.end(i) < this.keys ||
            this.hasHole(i))) return true;
      }
      return false;
    }

    hasHole(i) {
      for (let j = 0; this.bits && j < this.keys; ++j) if (!this.visible(i, j)) return true;
      return false;
    }

    // Writes the pattern's numbers to the masked cells (queries x keys).
    clear(values, queries, keys) {
      if (this.full) return;
      const count = keys.length;
      for (let a = 0; a < queries.length; ++a) {
        const i = queries[a];
        const mark = this.empty[i] ? EMPTY : MASKED;
        for (let b = 0; b < count; ++b) {
          if (!this.visible(i, keys[b])) values[a * count + b] = mark;
        }
      }
    }

    // For pooled cells (rows x columns): MASKED if all pairs of the cell are masked,
    // EMPTY if no query of the row has a key, else 0.
    pooled(rows, columns) {
      const cells = new Float32Array(rows * columns).fill(MASKED);
      const lonely = new Uint8Array(rows).fill(1);
      for (let i = 0; i < this.queries; ++i) {
        const row = Math.floor(i * rows / this.queries);
        if (this.empty[i]) continue;
        lonely[row] = 0;
        for (let c = 0; c < columns; ++c) {
          if (cells[row * columns + c] === 0) continue;
          const from = Math.ceil(c * this.keys / columns);
          const to = Math.ceil((c + 1) * this.keys / columns);
          if (this.first(i, from, to) >= 0) cells[row * columns + c] = 0;
        }
      }
      for (let row = 0; row < rows; ++row) {
        if (lonely[row]) cells.fill(EMPTY, row * columns, (row + 1) * columns);
      }
      return cells;
    }

    // 1 for each key that some query sees; the others are padding.
    seen() {
      if (!this.seenKeys) this.seenKeys = this.bits ? this.seenBits() : this.seenRanges();
      return this.seenKeys;
    }

    seenRanges() {
      const begins = new Int32Array(this.keys + 1);  // ranges that begin, minus those that end
      for (let i = 0; i < this.queries; ++i) {
        if (this.begin(i) >= this.end(i)) continue;
        ++begins[this.begin(i)];
        --begins[this.end(i)];
      }
      let open = 0;
      return Uint8Array.from({length: this.keys}, (_, j) => (open += begins[j]) > 0 ? 1 : 0);
    }

    // The bits of all queries combined, byte by byte.
    seenBits() {
      const any = new Uint8Array(this.rowBytes);
      for (let i = 0; i < this.queries; ++i) {
        const [begin, end] = [this.begin(i), this.end(i)];
        for (let byte = begin >> 3; byte * 8 < end; ++byte) {
          const below = byte * 8 < begin ? 255 << (begin & 7) : 255;
          const above = byte * 8 + 8 > end ? (1 << (end & 7)) - 1 : 255;
          any[byte] |= this.bits[i * this.rowBytes + byte] & below & above;
        }
      }
      return Uint8Array.from({length: this.keys}, (_, j) => any[j >> 3] >> (j & 7) & 1);
    }

    // Does the edge of the visible part move from query to query, as in a causal mask?
    hasEdge() {
      for (let i = 1; i < this.queries; ++i) {
        if (this.begin(i) !== this.begin(0) || this.end(i) !== this.end(0)) return true;
      }
      return false;
    }
  }

  async function load(page, number) {
    const {blocks} = headwise;
    const description = page.masks[number];
    const ranges = await blocks.integers(description.ranges);
    const bits = description.bits === null ? null : await blocks.bytes(description.bits);
    return new Mask(ranges, bits, page.num_queries, page.num_keys);
  }

  // -> Promise of a head's mask; each mask is read once and kept.
  function of(head) {
    if (!masks.has(head.page)) masks.set(head.page, new Map());
    const known = masks.get(head.page);
    if (!known.has(head.mask)) known.set(head.mask, load(head.page, head.mask));
    return known.get(head.mask);
  }

  // The name of a head's mask, in words.
  function nameOf(head) {
    const {name} = head.page.masks[head.mask];
    return ['none', 'no_weight'].includes(name) ? headwise.t('mask.' + name) :
        headwise.tokens.visible(name);
  }

  headwise.mask = {of, nameOf, MASKED, EMPTY, PENDING, isPattern: value => value <= MASKED};
}
