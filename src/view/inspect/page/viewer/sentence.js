// The sentence as text: the token in view colours the tokens that it attends to.
{
  const {make} = headwise.dom;
  const {sizeOf} = headwise.lines;
  const MOST = 4096;  // tokens; of longer texts, those of the window

  // The tokens that an axis shows, which can be pointed at if they are queries.
  const words = (axis, indices, queries) => Array.from(indices, index => make('span', {
    class: 'word', 'data-query': queries && index}, headwise.tokens.node(axis.tokens[index])));

  class Sentence {
    constructor(head) {
      const {axes, t} = headwise;
      const [queries, keys] = [axes.queries(), axes.keys()];
      const window = headwise.zoom.current();
      const part = (axis, first, count) => axis.size <= MOST ? axis.slice(0, axis.size) :
          axis.slice(first, Math.min(count, MOST));
      this.head = head;
      this.asked = 0;
      this.shown = [];  // the shade of each key
      this.indices = part(keys, window.column, window.columns);
      const rows = part(queries, window.row, window.rows);
      const tokensOf = (axis, indices) => Array.from(indices, n => axis.tokens[n]).join('\0');
      const one = head.page.query_start === 0 &&
          tokensOf(queries, rows) === tokensOf(keys, this.indices);
      this.keys = words(keys, this.indices, one);
      this.queries = one ? this.keys : words(queries, rows, true);
      const line = (name, list) => make('p', {class: 'words'},
          name && make('span', {class: 'quiet'}, name + ' '), list.map(node => [node, ' ']));
      this.node = make('div', {id: 'sentence', class: 'sentence', tabindex: '0', role: 'group',
                               'aria-label': t('sentence.label')},
          one ? null : line(t('axis.query'), this.queries),
          line(one ? '' : t('axis.key'), this.keys));
      this.node.addEventListener('pointerover', event => this.point(event));
      this.node.addEventListener('pointerleave', () => headwise.pick.point(null));
      this.node.addEventListener('click', async event => {
        await this.point(event);
        headwise.pick.fix(headwise.pick.active());
      });
      headwise.pick.on(() => this.follow());
      this.follow();
    }

    row(query) {
      return headwise.weights.line(this.head, Int32Array.of(query), this.indices);
    }

    // Pointing at a token selects its strongest pair.
    async point({target}) {
      const word = target.closest('[data-query]');
      if (!word) return;
      const query = Number(word.dataset.query);
      const mine = ++this.asked;
      const row = await this.row(query);
      if (mine !== this.asked) return;
      const best = row.reduce((at, value, n) => sizeOf(value) > sizeOf(row[at]) ? n : at, 0);
      headwise.pick.point({query, key: this.indices[best]});
    }

    async follow() {
      const pair = headwise.pick.active();
      const mine = ++this.asked;
      const row = pair && await this.row(pair.query);
      await headwise.dom.painted();  // first the frame that answers the pointer
      if (mine !== this.asked) return;
      const {get, inkOn} = headwise.palette;
      const {shades, index} = get(headwise.measure.signed(), 'ink');
      const largest = row ? row.reduce((most, value) => Math.max(most, sizeOf(value)), 0) : 0;
      this.keys.forEach((node, n) => {
        const shade = largest > 0 && sizeOf(row[n]) > 0 && shades[index(row[n], largest)];
        if (shade === this.shown[n]) return;
        this.shown[n] = shade;
        node.style.setProperty('background', shade ? `rgb(${shade.join(',')})` : '');
        node.style.setProperty('color', shade ? inkOn(shade) : '');
      });
      for (const node of this.queries) {
        node.classList.toggle('word-query', Boolean(pair) && Number(node.dataset.query) === pair.query);
      }
    }
  }

  headwise.Sentence = Sentence;
}
