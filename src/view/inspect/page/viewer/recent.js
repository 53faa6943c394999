// What was made last: results are kept in the order of their use, up to a number of bytes,
// so that a page with many heads never holds all of them.
{
  class Recent {
    #limit;
    #make;
    #bytesOf;
    #made = new Map();   // key -> Promise; in order of last use
    #sizes = new Map();  // key -> bytes, of those that are there

    // `make` makes the Promise of a key's result, `bytesOf` says how large that is.
    constructor(limit, make, bytesOf) {
      this.#limit = limit;
      this.#make = make;
      this.#bytesOf = bytesOf;
    }

    // -> Promise of the result, which is not to be changed. A failure is not kept.
    of(key, ...more) {
      const found = this.#made.get(key) || this.#make(key, ...more);
      this.#made.delete(key);  // to the end of the order
      this.#made.set(key, found);
      found.then(result => {
        if (this.#made.get(key) !== found) return;
        this.#sizes.delete(key);
        this.#sizes.set(key, this.#bytesOf(result));
        this.#forget();
      }, () => {
        if (this.#made.get(key) === found) this.#made.delete(key);
      });
      return found;
    }

    bytes() { return [...this.#sizes.values()].reduce((total, size) => total + size, 0); }

    clear() {
      this.#made.clear();
      this.#sizes.clear();
    }

    #forget() {
      let total = this.bytes();
      for (const [key, size] of this.#sizes) {
        if (total <= this.#limit || this.#sizes.size === 1) return;
        total -= size;
        this.#sizes.delete(key);
        this.#made.delete(key);
      }
    }
  }

  headwise.Recent = Recent;
}
