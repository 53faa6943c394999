// Chooses the head, the head to compare with, the zoom, and whether to hide special tokens.
{
  const {make, choice, field, button} = headwise.dom;

  function go(head) {
    headwise.state.set({layer: head.layer, head: head.number});
  }

  // Two lists: the layers of these heads, and the heads in the layer. `head` is the chosen
  // one, or null for the choice `none` of the first list.
  function picker(prefix, label, heads, head, none, chosen) {
    const {t} = headwise;
    const inLayer = number => heads.filter(other => other.layer === number);
    const number = head ? head.number : headwise.state.get().head;
    const layers = [...new Set(heads.map(other => other.layer))].map(layer => [layer, layer]);
    const byLayer = choice({id: prefix + '-layer'}, head ? head.layer : '',
        none ? [['', none], ...layers] : layers, layer => chosen(layer === '' ? null :
            headwise.heads.nearest(inLayer(Number(layer)), number)));
    if (!head) return field(prefix + '-layer', label, byLayer);
    const byHead = choice({id: prefix + '-head'}, head.number,
        inLayer(head.layer).map(other => [other.number, other.number]),
        value => chosen(inLayer(head.layer).find(other => other.number === Number(value))));
    return [field(prefix + '-layer', label, byLayer),
      field(prefix + '-head', t('Head'), byHead)];
  }

  // All in one line, in a narrow window too.
  function headChoice(head) {
    const {t, heads} = headwise;
    const besideButton = (id, short, label, step) => button(id, headwise.narrow() ? short : label,
        () => go(heads.beside(head, step)), {'aria-label': label});
    return make('div', {class: 'tools', role: 'group', 'aria-label': t('Layer and head')},
        besideButton('previous-head', t('Previous'), t('keys.previous_head'), -1),
        picker('which', t('Layer'), heads.kept, head, '', go),
        besideButton('next-head', t('Next'), t('keys.next_head'), 1));
  }

  // The document of the head to compare with.
  function documentChoice(head, other) {
    const {t, documents, state} = headwise;
    if (!documents.several) return null;
    const same = number => documents.nearest(number, other || head);
    return field('compare-document', t('compare.document_' + documents.kind()),
        choice({id: 'compare-document'}, (other || head).document, documents.choices(),
            number => state.set({compare: same(Number(number))})));
  }

  function compareChoice(head) {
    const {t, documents, state} = headwise;
    const other = state.compared();
    const heads = documents.heads((other || head).document).kept
        .filter(one => one.unique !== head.unique);
    return [documentChoice(head, other),
      picker('compare', t('Compare with layer'), heads, other, t('none'),
          one => state.set({compare: one ? one.unique : ''}))];
  }

  function zoomTools() {
    const {t, zoom} = headwise;
    const sizes = zoom.sizes();
    const {size} = zoom.current();
    const at = sizes.findIndex(one => one <= size);
    return field('zoom', t('Zoom'),
        button('zoom-out', t('keys.zoom_out'), () => zoom.step(-1, headwise.pick.active())),
        choice({id: 'zoom'}, sizes[at], sizes.map((one, n) =>
            [one, n === 0 ? t('all {0}', one) : t('{0} tokens', one)]),
            value => zoom.to(Number(value), headwise.pick.active())),
        button('zoom-in', t('keys.zoom_in'), () => zoom.step(1, headwise.pick.active())));
  }

  function specialTools() {
    const {t, state, page} = headwise;
    if (page.query_special.length + page.key_special.length === 0) return null;
    const special = [...new Set(page.key_special.slice(0, 4).map(
        n => headwise.tokens.short(page.key_tokens[n])))].join(' ');
    return make('span', {class: 'field'},
        headwise.toggler('hide', t('Hide {0}', special)),
        state.get().hide && headwise.measure.plain() &&
          headwise.toggler('renormalise', t('Make rows sum to 1'), t('special.about')));
  }

  headwise.headChoice = headChoice;
  headwise.headTools = head => {
    return make('div', {class: 'bar-head'}, headChoice(head),
        headwise.foldTools('fold-head', headwise.t('head.tools'), headwise.measure.tools(),
            compareChoice(head), headwise.parts.tools(), zoomTools(), headwise.poolChoice(),
            headwise.fitToggle(), specialTools()));
  };
}
