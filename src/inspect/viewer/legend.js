// What the colours and patterns mean.
{
  const {make} = headwise.dom;
  const TICKS = [0, 0.01, 0.1, 0.25, 0.5, 1];
  const FITTED = [0, 0.1, 0.4, 1];  // parts of the largest
  const WIDTH = 200;
  const HEIGHT = 10;

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
    const ticks = diverging ? [-1, -0.25, 0, 0.25, 1] :
        limit === 1 ? TICKS : FITTED;
    const place = value => diverging ?
        (Math.sign(value) * Math.sqrt(Math.abs(value)) + 1) / 2 : Math.sqrt(value);
    return make('span', {class: 'scale-box'}, canvas,
        make('span', {class: 'ticks'}, ticks.map(value => {
          const tick = make('span', {class: 'tick'}, limit === 1 ? plain(value) :
              headwise.numbers.text(value * limit));
          tick.style.setProperty('left', place(value) * 100 + '%');
          return tick;
        })));
  }

  const plain = value => headwise.numbers.text(value)
      .replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');

  function weights(withEmpty, limit = 1) {
    const t = headwise.t;
    return make('p', {class: 'legend'},
        make('span', {}, t('legend.weight')),
        limit === null ? make('span', {}, t('legend.own')) : scale(false, limit),
        make('span', {class: 'key'}, swatch('masked'), t('legend.masked')),
        withEmpty && make('span', {class: 'key'}, swatch('empty'), t('legend.empty')),
        make('span', {class: 'quiet'}, t('legend.root'),
            limit !== 1 && limit !== null ? ' ' + t('legend.fit') : null));
  }

  function difference(a, b, limit = 1) {
    const t = headwise.t;
    return make('p', {class: 'legend'},
        make('span', {}, t('legend.more', b)), scale(true, limit),
        make('span', {}, t('legend.more', a)),
        make('span', {class: 'key'}, swatch('masked'), t('legend.masked')));
  }

  headwise.legend = {weights, difference};
}
