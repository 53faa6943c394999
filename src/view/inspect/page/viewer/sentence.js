// The sentence as text: the token in view colours the tokens that it attends to. A token
// that a model generated stands for the query that chose it, the one before it.
{
  const {make} = headwise.dom;
  const {sizeOf} = headwise.lines;
  const MOST = 4096;  // tokens; of longer texts, those of the window

  // The tokens that an axis shows, which can be pointed at if they are queries.
  function words(axis, indices, queries) {
    const {generated_from: first, kind} = headwise.page;
    const isGenerated = index => first !== null && first > 0 && index >= first &&
        (queries || kind === 'self');
    return Array.from(indices, index => make('span', {
      class: isGenerated(index) ? 'word word-generated' : 'word',
      'data-query': queries && (isGenerated(index) ? index - 1 : index),
    }, headwise.tokens.node(axis.tokens[index])));
  }

  // The heads whose mean is shown; none: the one in view.
  const meanHeads = () => headwise.state.get().mean.split(',')
      .map(id => headwise.heads.find(...id.split('.'))).filter(Boolean);

  // Takes the head in view into the mean, or out of it.
  function meanTools(head) {
    const {t, state} = headwise;
    const ids = meanHeads().map(one => one.id);
    const others = ids.filter(id => id !== head.id);
    const has = others.length < ids.length;
    return make('p', {class: 'tools'},
        headwise.dom.button('mean', has ? t('Take {0} out of the mean', head.id) :
            t('Add {0} to a mean', head.id),
        () => state.set({mean: (has ? others : [...ids, head.id]).join(',')})),
        ids.length > 0 && make('span', {class: 'quiet'}, t('mean of {0}', ids.join(', '))));
  }

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
          line(one ? '' : t('axis.key'), this.keys),
          headwise.page.generated_from !== null ? meanTools(head) : null);
      this.node.addEventListener('pointerover', event => this.point(event));
      this.node.addEventListener('pointerleave', () => headwise.pick.point(null));
      this.node.addEventListener('click', async event => {
        await this.point(event);
        headwise.pick.fix(headwise.pick.active());
      });
      headwise.pick.on(() => this.follow());
      this.follow();
    }

    async row(query) {
      const of = head => headwise.weights.line(head, Int32Array.of(query), this.indices);
      const heads = meanHeads();
      if (heads.length === 0) return of(this.head);
      const rows = await Promise.all(heads.map(of));
      return rows[0].map((_, n) => rows.reduce((sum, row) => sum + row[n], 0) / rows.length);
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
