// Next to the matrix: the row of the current query, the column of the current key, and the
// mean that each key receives.
{
  const {make, colour} = headwise.dom;
  const {isPattern} = headwise.mask;
  const DEPTH = 48;  // pixels

  // The values pooled to `length` pixels, by the largest without sign.
  function binned(values, length) {
    const bins = new Float32Array(Math.min(values.length, length));
    values.forEach((value, n) => {
      const bin = Math.floor(n * bins.length / values.length);
      if (!isPattern(value) && Math.abs(value) > Math.abs(bins[bin])) bins[bin] = value;
    });
    return bins;
  }

  // Bars have the scale of the matrix's colours: up to 1, or up to the largest. Numbers with a
  // sign begin in the middle, and the sums of keys have their own scale.
  class Profile {
    // along: 'row' (bars for keys, below the matrix) or 'column' (to its right).
    constructor(matrix, head, along) {
      this.matrix = matrix;
      this.head = head;
      this.along = along;
      this.flat = along === 'row';
      this.length = this.flat ? matrix.place.x.length : matrix.place.y.length;
      this.sides = this.flat ? [this.length, DEPTH] : [DEPTH, this.length];
      const [width, height] = this.sides.map(side => side + 'px');
      this.canvas = make('canvas', {'aria-hidden': 'true', css: {width, height}});
      this.caption = make('span', {class: 'profile-caption'});
      this.node = make('div', {class: 'profile profile-' + along}, this.canvas, this.caption);
      this.busy = false;
      this.again = false;
      headwise.pick.on(() => this.follow());
      if (this.flat) this.loadMeans();
    }

    async loadMeans() {
      const means = await headwise.statistics.ofKeys(this.head);
      const {window} = this.matrix;
      const keys = headwise.axes.keys().slice(window.column, window.columns);
      this.largest = means.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      this.means = binned(Float32Array.from(keys, key => means[key]), this.length);
      this.follow();
    }

    // The active row or column in the window, from the matrix or from the worker.
    async values(pair) {
      const {window, raw} = this.matrix;
      const queries = headwise.axes.queries();
      const keys = headwise.axes.keys();
      const at = this.flat ? queries.place(pair.query, window.row, window.rows) :
          keys.place(pair.key, window.column, window.columns);
      if (at < 0) return null;
      if (raw) {
        return this.flat ? raw.subarray(at * window.columns, (at + 1) * window.columns) :
            Float32Array.from({length: window.rows}, (_, r) => raw[r * window.columns + at]);
      }
      return this.flat ?
          headwise.weights.line(
              this.head, [pair.query], keys.slice(window.column, window.columns)) :
          headwise.weights.line(
              this.head, queries.slice(window.row, window.rows), [pair.key]);
    }

    // One at a time: while a row is being computed, only the latest request is kept.
    async follow() {
      if (this.busy) {
        this.again = true;
        return;
      }
      this.busy = true;
      await this.show();
      this.busy = false;
      if (!this.again) return;
      this.again = false;
      this.follow();
    }

    async show() {
      const pair = headwise.pick.active();
      const values = pair && await this.values(pair);
      const {word} = headwise.measure;
      const sum = headwise.numbers.text(this.largest);
      this.caption.textContent = values ?
          this.flat ? word('profile.row', pair.query, sum) : headwise.t('key {0}', pair.key) :
          this.flat ? word('profile.row_none', sum) : '';
      this.draw(values);
    }

    draw(values) {
      const signed = headwise.measure.signed();
      this.base = signed ? DEPTH / 2 : 1;
      this.room = (signed ? DEPTH / 2 : DEPTH) - 2;
      this.height = this.room / (this.matrix.options.scale.limit || 1);
      const ratio = Math.min(3, window.devicePixelRatio || 1);
      [this.canvas.width, this.canvas.height] = this.sides.map(side => Math.round(side * ratio));
      const context = this.canvas.getContext('2d');
      context.scale(ratio, ratio);
      if (!this.flat) context.transform(0, 1, 1, 0, 0, 0);  // bars grow to the right
      context.fillStyle = colour('--rule');
      context.fillRect(0, this.base - 1, this.length, 1);
      if (values) this.bars(context, binned(values, this.length));
      if (this.means) this.meanLine(context);
    }

    // Bars below the matrix hang from it, but numbers with a sign rise if they are positive.
    up() { return headwise.measure.signed() && this.flat ? -1 : 1; }

    bars(context, bins) {
      const step = this.length / bins.length;
      const gap = step >= 6 ? 1 : 0;
      const up = this.up();
      bins.forEach((value, n) => {
        context.fillStyle = colour(value < 0 ? '--minus' : '--accent');
        context.fillRect(n * step + gap, this.base, Math.max(1, step - 2 * gap),
            up * value * this.height);
      });
    }

    meanLine(context) {
      const step = this.length / this.means.length;
      context.strokeStyle = colour('--ink');
      context.setLineDash([3, 2]);
      context.lineWidth = 1;
      context.beginPath();
      const height = headwise.measure.signed() ?
          this.up() * this.room / (this.largest || 1) : this.height;
      this.means.forEach((value, n) => {
        context.lineTo(n * step, this.base + value * height);
        context.lineTo((n + 1) * step, this.base + value * height);
      });
      context.stroke();
    }
  }

  headwise.Profile = Profile;
}
