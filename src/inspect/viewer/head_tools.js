// Which head, compared with which, how near, with or without special tokens.
{
  const {make, choice, toggle} = headwise.dom;

  function go(head) {
    headwise.state.set({layer: head.layer, head: head.number});
  }

  function button(id, name, text, pressed) {
    return make('button', {type: 'button', id, 'aria-label': name, title: name,
                           onclick: pressed}, text);
  }

  function chooser(id, label, value, heads, none, chosen) {
    const t = headwise.t;
    const choices = heads.map(head => [head.id, t('head.short', head.layer, head.number)]);
    return make('span', {class: 'field'}, make('label', {for: id}, label),
        choice({id}, value, none ? [['', none]].concat(choices) : choices, chosen));
  }

  function headChoice(head) {
    const {t, heads} = headwise;
    return make('span', {class: 'field'},
        button('previous-head', t('keys.previous_head'), '\u2190',
            () => go(heads.beside(head, -1))),
        chooser('which-head', t('head.which'), head.id, heads.kept, '', id =>
            go(heads.kept.find(other => other.id === id))),
        button('next-head', t('keys.next_head'), '\u2192', () => go(heads.beside(head, 1))));
  }

  function zoomTools() {
    const t = headwise.t;
    const {zoom} = headwise;
    const sizes = zoom.sizes();
    const {size} = zoom.current();
    const at = sizes.findIndex(one => one <= size);
    return make('span', {class: 'field'}, make('label', {for: 'zoom'}, t('zoom.label')),
        button('zoom-out', t('keys.zoom_out'), '\u2212',
            () => zoom.step(-1, headwise.pick.active())),
        choice({id: 'zoom'}, sizes[at], sizes.map((one, n) =>
            [one, n === 0 ? t('zoom.all', one) : t('zoom.cells', one)]),
            value => zoom.to(Number(value), headwise.pick.active())),
        button('zoom-in', t('keys.zoom_in'), '+',
            () => zoom.step(1, headwise.pick.active())));
  }

  function specialTools() {
    const {t, state, page} = headwise;
    if (page.query_special.length + page.key_special.length === 0) return null;
    const {hide, renormalise} = state.get();
    const special = [...new Set(page.key_special.slice(0, 4).map(
        n => headwise.tokens.short(page.key_tokens[n])))].join(' ');
    return make('span', {class: 'field'},
        toggle({id: 'hide'}, hide, t('special.hide', special),
            () => state.set({hide: !hide})),
        hide && toggle({id: 'renormalise', title: t('special.about')}, renormalise,
            t('special.renormalise'), () => state.set({renormalise: !renormalise})));
  }

  headwise.headTools = head => {
    const {t, state, heads} = headwise;
    return make('div', {class: 'tools', role: 'group', 'aria-label': t('head.tools')},
        headChoice(head),
        chooser('compare', t('compare.with'), state.get().compare,
            heads.kept.filter(other => other.id !== head.id),
            t('compare.none'), compare => state.set({compare})),
        zoomTools(), headwise.poolChoice(state.get().pool), headwise.fitToggle(),
        specialTools());
  };
}
