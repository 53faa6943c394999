// What goes through all layers: how much of each input token is in an output token, by
// rollout or by flow (docs/attribution.md).
{
  const {make, makeSvg, choice, field, FONT} = headwise.dom;
  const ALL = ['rollout', 'flow'];
  const LETTERS = 14;  // of a token in a picture
  const CELL = [84, 34];  // pixels of a token there

  // Those that a document has.
  const names = page => ALL.filter(
      name => page.through && page.through[name] !== null);

  // The one that is shown, and the output token.
  function now() {
    const {page, state} = headwise;
    const {through, output} = state.get();
    return {name: through || names(page)[0], output: output === null ? page.through.token : output};
  }

  // -> Promise of the numbers of all input tokens.
  async function row(name, output) {
    const {page, blocks} = headwise;
    const all = await blocks.floats(page.through[name]);
    return all.subarray(output * page.num_keys, (output + 1) * page.num_keys);
  }

  const largest = numbers => numbers.reduce((most, number) => Math.max(most, number), 0) || 1;

  const {tiny, text, exact: sixDigits} = headwise.numbers;
  const shown = number => tiny(number) || text(number);
  const exact = number => tiny(number) || sixDigits(number);

  function sentence(output, input, number) {
    const {t, tokens, page} = headwise;
    return t('through.sentence', output, tokens.visible(page.query_tokens[output]), input,
        tokens.visible(page.key_tokens[input]), exact(number));
  }

  // ---- The two lines of tokens. ----

  function outputs(output) {
    const {t, page, state, tokens} = headwise;
    return make('div', {class: 'token-line', role: 'group', 'aria-label': t('Output token')},
        page.query_tokens.map((token, index) => make('button', {
          type: 'button', class: 'card token-card', id: 'output-' + index,
          tabindex: index === output ? '0' : '-1', 'aria-pressed': String(index === output),
          'aria-label': index + ' ' + tokens.visible(token),
          onclick: () => state.set({output: index, input: null}),
        }, tokens.node(token))));
  }

  function inputs(output, found, readout) {
    const {t, page, state, tokens, palette} = headwise;
    const {input: pinned} = state.get();
    const {shades, index: shadeOf} = palette.get(false);
    const limit = largest(found);
    const say = index => headwise.dom.put(readout, index === null ? t('through.none') :
        sentence(output, index, found[index]));
    say(pinned);
    return make('div', {
      class: 'token-line', role: 'group', 'aria-label': t('Input token'),
      onpointerleave: () => say(pinned),
    }, page.key_tokens.map((token, index) => {
      const shade = shades[shadeOf(found[index], limit)];
      return make('button', {
        type: 'button', class: 'card token-card', id: 'input-' + index,
        tabindex: index === (pinned || 0) ? '0' : '-1',
        'aria-pressed': String(index === pinned),
        'aria-label': sentence(output, index, found[index]),
        onpointerenter: () => say(index), onfocus: () => say(index),
        onclick: () => state.set({input: index === pinned ? null : index}),
        css: {background: `rgb(${shade.join(',')})`, color: palette.inkOn(shade)},
      }, tokens.node(token), make('span', {class: 'token-number'}, shown(found[index])));
    }));
  }

  // ---- The same as rows. ----

  async function rows() {
    const {page} = headwise;
    const {output} = now();
    const columns = names(page);
    const numbers = await Promise.all(columns.map(name => row(name, output)));
    return {output, columns, numbers};
  }

  async function table() {
    const {t, page, tokens} = headwise;
    const {output, columns, numbers} = await rows();
    return headwise.tables.table(t('through.of', output, tokens.visible(page.query_tokens[output])),
        [t('Input token'), ...columns.map(name => t('through.' + name))],
        page.key_tokens.map((token, index) => [[index + ' ', tokens.node(token)],
          ...numbers.map(found => exact(found[index]))]));
  }

  // For files.
  async function data() {
    const {page} = headwise;
    const {output, columns, numbers} = await rows();
    return {
      header: ['output', 'output_token', 'input', 'input_token', ...columns],
      rows: page.key_tokens.map((token, index) => [output, page.query_tokens[output], index,
        token, ...numbers.map(found => found[index])]),
    };
  }

  // -> {parts, height, title, scale}: the input tokens in lines of this width.
  async function picture(width) {
    const {t, page, tokens, palette} = headwise;
    const {name, output} = now();
    const found = await row(name, output);
    const limit = largest(found);
    const {shades, index: shadeOf} = palette.get(false);
    const wide = Math.floor(width / CELL[0]);
    const parts = page.key_tokens.map((token, index) => {
      const [x, y] = [index % wide * CELL[0], Math.floor(index / wide) * CELL[1]];
      const shade = shades[shadeOf(found[index], limit)];
      const text = (down, size, words) => makeSvg('text', {
        x: x + CELL[0] / 2 - 1, y: y + down, 'font-family': FONT, 'font-size': size,
        'text-anchor': 'middle', fill: palette.inkOn(shade), direction: 'ltr',
        'unicode-bidi': 'isolate'}, words);
      return makeSvg('g', {}, makeSvg('rect', {x, y, width: CELL[0] - 2, height: CELL[1] - 2,
        fill: `rgb(${shade.join(',')})`}), text(14, 11, tokens.short(token, LETTERS)),
      text(27, 9, shown(found[index])));
    });
    return {parts: makeSvg('g', {}, parts), height: Math.ceil(page.num_keys / wide) * CELL[1],
            title: t('through.' + name) + ' \u00b7 ' +
              t('through.of', output, tokens.visible(page.query_tokens[output])),
            scale: [t('through.' + name), false, limit, t('through.colours')]};
  }

  // ---- The view. ----

  function tools({name, output}) {
    const {t, page, state, tokens} = headwise;
    const all = names(page);
    return headwise.foldTools('fold-through', t('Measure and output token'),
        all.length > 1 && headwise.chooser('through', t('Show'),
            all.map(one => [one, t('through.' + one)]), {value: name}),
        field('output', t('Output token'),
            choice({id: 'output'}, output, page.query_tokens.map(
                (token, index) => [index, index + ' ' + tokens.short(token)]),
            index => state.set({output: Number(index), input: null}))));
  }

  async function fill(node, shown) {
    const {t, legend} = headwise;
    const {name, output} = shown;
    const found = await row(name, output);
    const readout = make('p', {class: 'readout', id: 'readout'});
    const lines = [outputs(output), inputs(output, found, readout)];
    for (const line of lines) headwise.grid.moveByKeys(line);
    headwise.dom.put(node, make('h3', {}, t('Output token')), lines[0],
        make('h3', {}, t('Input token')), readout, lines[1], make('p', {class: 'legend'},
            make('span', {}, t('through.' + name)), legend.scale(false, largest(found)),
            make('span', {class: 'quiet'}, t('through.colours'))));
    node.dispatchEvent(new Event('filled'));
  }

  function view() {
    const {t, state} = headwise;
    const shown = now();
    const node = make('div', {class: 'through'});
    const focused = document.activeElement ? document.activeElement.id : '';
    // The lines come later than the rest; the focus was in one of them, or waits on the title.
    node.addEventListener('filled', () => {
      const again = /^(input|output)-/.test(focused) && document.getElementById(focused);
      if (again) again.focus({preventScroll: true});
      else if (document.activeElement.id === 'view-title') headwise.enterView();
    });
    if (state.get().table) table().then(made => node.append(made));
    else fill(node, shown);
    return make('section', {class: 'view', 'aria-labelledby': 'view-title'},
        make('h2', {id: 'view-title', tabindex: '-1'}, t('Through all layers')),
        tools(shown), make('p', {class: 'note', id: 'through-note'},
            t('through.about_' + shown.name)), node);
  }

  headwise.through = {ALL, names, now, view, data, picture};
}
