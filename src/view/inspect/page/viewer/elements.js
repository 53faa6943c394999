// The pinned pair, component by component: q, k, q*k, then how scale, softcap, biases and
// mask turn the score into an attention weight.
{
  const {make, makeSvg} = headwise.dom;
  const HEIGHT = 46;
  const WIDTH = 640;

  // Everything about the pair in binary64, from the page's binary16 q and k.
  async function compute(head, pair) {
    const {blocks, half} = headwise;
    const {page} = head;
    const dim = page.head_dim;
    const [queries, keys, lse, mask] = await Promise.all([
      blocks.buffer(head.query), blocks.buffer(head.key), blocks.floats(head.lse),
      headwise.mask.of(head)]);
    const q = half.widen(new Uint16Array(queries, 2 * dim * pair.query, dim));
    const k = half.widen(new Uint16Array(keys, 2 * dim * pair.key, dim));
    const products = Array.from(q, (value, d) => value * k[d]);
    const dot = products.reduce((sum, value) => sum + value, 0);
    const scores = headwise.computed.scoreSteps(
        head, dot, pair.key - pair.query - page.query_start);
    const may = mask.visible(pair.query, pair.key);
    const rowLse = lse[pair.query];
    const {values: [weight], errors: [error]} = await headwise.exact.raw(
        head, [pair.query], [pair.key]);
    return {q, k, products, scores, score: scores.at(-1)[1], may, lse: rowLse, error,
            weight: may && rowLse > -Infinity ? weight : 0};
  }

  function bars(values, largest) {
    const step = WIDTH / values.length;
    return makeSvg('svg', {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', class: 'bars',
      'aria-hidden': 'true',
    }, Array.from(values, (value, d) => {
      const length = Math.abs(value) / (largest || 1) * (HEIGHT / 2 - 1);
      return makeSvg('rect', {
        x: d * step + step * 0.1, width: step * 0.8, height: Math.max(length, 0.3),
        y: value >= 0 ? HEIGHT / 2 - length : HEIGHT / 2,
        class: value >= 0 ? 'plus' : 'minus',
      }, makeSvg('title', {}, d + ': ' + headwise.numbers.text(value)));
    }), makeSvg('line', {x1: 0, x2: WIDTH, y1: HEIGHT / 2, y2: HEIGHT / 2, class: 'zero'}));
  }

  const largestOf = values => values.reduce((most, v) => Math.max(most, Math.abs(v)), 0);

  function strips(found) {
    const t = headwise.t;
    return make('div', {class: 'strips'}, [['q', found.q], ['k', found.k],
      ['q \u00d7 k', found.products]].map(([name, values]) => [
      make('span', {class: 'strip-name'}, name),
      bars(values, largestOf(values)),
      make('span', {class: 'number'}, '\u00b1' + headwise.numbers.text(largestOf(values))),
    ]), make('p', {class: 'quiet strip-note'}, t('elements.bars')));
  }

  // From the score to the weight: [name, value, how].
  function steps(head, found) {
    const {t, numbers} = headwise;
    const n = numbers.text;
    const list = found.scores.map(([name, score, how]) => [name, n(score), how]);
    list.push([t('mask'), found.may ? t('may attend') : t('masked'),
      headwise.mask.nameOf(head)]);
    list.push([t('attention weight'),
      found.may ? numbers.tiny(found.weight) || numbers.known(found.weight, found.error) : t('cell.masked'),
      found.may ? `exp(${n(found.score)} \u2212 LSE ${n(found.lse)})` : '']);
    return list;
  }

  function stepList(head, found) {
    return make('ol', {class: 'way'}, steps(head, found).map(([name, value, how]) =>
        make('li', {}, make('span', {class: 'way-name'}, name),
            make('strong', {}, value), make('span', {class: 'quiet'}, how))));
  }

  function heading(head, pair) {
    const {t, tokens, page} = headwise;
    return make('h3', {}, t('elements.title'), ': ', tokens.node(page.query_tokens[pair.query]),
        ' \u2192 ', tokens.node(page.key_tokens[pair.key]), ' ',
        make('span', {class: 'quiet'}, t('head.name', head.layer, head.number)));
  }

  function panel(head) {
    const t = headwise.t;
    const node = make('section', {class: 'panel elements', id: 'elements',
                                  'aria-label': t('elements.title')});
    const pair = headwise.pick.pin();
    const say = text => headwise.dom.put(node, make('h3', {}, t('elements.title')),
        make('p', {class: 'quiet'}, text));
    if (head.query === null || head.key === null) {
      say(t(head.page.head_dim === 0 ? 'elements.weights_only' : 'elements.left_out'));
    } else if (!pair) {
      say(t('Click or tap a cell, or press Enter, to see how its score is computed.'));
    } else {
      compute(head, pair).then(found => headwise.dom.put(node,
          heading(head, pair),
          headwise.state.get().table ? headwise.tables.elements(found) : strips(found),
          stepList(head, found)));
    }
    return node;
  }

  headwise.elements = {panel, compute, steps};
}
