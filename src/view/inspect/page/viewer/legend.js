// What the colours and patterns mean.
{
  const {make} = headwise.dom;
  const TICKS = [0, 0.01, 0.1, 0.25, 0.5, 1];
  const FITTED = [0, 0.1, 0.4, 1];  // shares of the largest
  const DIVERGING = [-1, -0.25, 0, 0.25, 1];
  const WIDTH = 200;
  const HEIGHT = 10;

  const plain = value => headwise.numbers.text(value)
      .replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');

  // `limit` is where colours end, here and below; null: each picture has its own limit.
  function tickText(value, limit) {
    if (limit === 1 || value === 0) return plain(value);
    if (limit !== null) return headwise.numbers.text(value * limit);
    return Math.abs(value) !== 1 ? plain(100 * value) + '%' :
      (value < 0 ? '\u2212' : '') + headwise.t('largest');
  }

  // [[share of the scale's length, words]], by the square root of the attention weight.
  function ticks(diverging, limit) {
    const place = value => diverging ?
        (Math.sign(value) * Math.sqrt(Math.abs(value)) + 1) / 2 : Math.sqrt(value);
    return (diverging ? DIVERGING : limit === 1 ? TICKS : FITTED).map(
        value => [place(value), tickText(value, limit)]);
  }

  // -> Promise of the patterns that matrices of these heads have: 'masked', 'empty'.
  async function patterns(heads) {
    const numbers = [...new Set(heads.map(head => head.mask))];
    const masks = await Promise.all(numbers.map(
        number => headwise.mask.of(heads.find(head => head.mask === number))));
    return [masks.some(mask => mask.hasMasked()) && 'masked',
      heads.some(head => head.empty_rows > 0) && 'empty'].filter(Boolean);
  }

  function swatch(kind) {
    const canvas = make('canvas', {'aria-hidden': 'true', class: 'swatch'});
    const values = Float32Array.of(headwise.mask[kind.toUpperCase()]);
    headwise.paint.paint(canvas, {rows: 1, columns: 1, values}, 18, 12);
    return canvas;
  }

  function scale(diverging, limit) {
    const canvas = make('canvas', {class: 'scale', 'aria-hidden': 'true'});
    const at = x => diverging ? Math.sign(2 * x - 1) * (2 * x - 1) ** 2 : x * x;
    const values = Float32Array.from({length: WIDTH}, (_, n) => at(n / (WIDTH - 1)));
    headwise.paint.paint(
        canvas, {rows: 1, columns: WIDTH, values}, WIDTH, HEIGHT, {diverging});
    return make('span', {class: 'scale-box'}, canvas,
        make('span', {class: 'ticks'}, ticks(diverging, limit).map(([part, words]) =>
          make('span', {class: 'tick', css: {left: part * 100 + '%'}}, words))));
  }

  function keys(heads) {
    const node = make('span', {class: 'keys'});
    patterns(heads).then(kinds => headwise.dom.put(node, kinds.map(kind =>
        make('span', {class: 'key'}, swatch(kind), headwise.t('legend.' + kind)))));
    return node;
  }

  const note = (limit, fitted) => [headwise.measure.word('legend.root'),
    limit === 1 ? '' : headwise.measure.word(limit === null ? 'legend.own' : fitted)]
      .filter(Boolean).join(' ');

  // The scale of what is shown: [words before it, whether it is diverging, limit, words after].
  // `fitted` names the words on colours that end at the largest number.
  function row(limit, fitted = 'legend.fit') {
    const {word, signed} = headwise.measure;
    return [word('legend.weight'), signed(), limit, note(limit, fitted)];
  }

  function weights(heads, limit, fitted) {
    const [before, diverging, end, after] = row(limit, fitted);
    const {t, measure, palette} = headwise;
    const axes = [t('axis.sentence'), !headwise.narrow() && measure.word(
        palette.brighter() ? 'axis.brighter' : 'axis.darker'), after].filter(Boolean).join(' ');
    return make('p', {class: 'legend'}, make('span', {}, before), scale(diverging, end),
        keys(heads), make('span', {class: 'quiet'}, axes));
  }

  function difference(a, b, limit) {
    const t = headwise.t;
    return make('p', {class: 'legend'},
        make('span', {}, t('{0} larger', b)), scale(true, limit),
        make('span', {}, t('{0} larger', a)),
        limit !== 1 && make('span', {class: 'quiet'}, headwise.measure.word('legend.fit')));
  }

  // A legend that follows its scale: {node, scale}.
  function following(draw) {
    const node = make('div', {}, draw(1));
    return {node, scale: new headwise.Scale(limit => headwise.dom.put(node, draw(limit)))};
  }

  // Of the tiles of these heads: {node, scale}, without a scale if each has its own.
  function ofTiles(heads, fitted) {
    if (headwise.measure.own()) return {node: weights(heads, null)};
    return following(limit => weights(heads, limit, fitted));
  }

  headwise.legend = {weights, difference, ticks, patterns, row, scale, following, ofTiles, WIDTH};
}
