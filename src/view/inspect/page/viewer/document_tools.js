// Chooses the document in view.
{
  const {make, choice, field, button} = headwise.dom;

  // The head that a head is compared with, if it is that of the same text in another model or
  // with other heads; or else null.
  function besides() {
    const {documents, state} = headwise;
    const other = state.comparison(state.wished());
    return other && other.number === documents.partner(state.wished().document) ? other : null;
  }

  // The heads of a text that is compared in two documents: in another text they stay, and
  // in the other document A and B change places.
  function heads(number) {
    const {documents, state} = headwise;
    const {document, layer, head} = state.wished();
    const other = besides();
    if (!other) return {};
    const partner = documents.partner(number) + ':';
    if (number % 2 === document % 2) return {compare: partner + other.id};
    const [ofOther, inOther] = other.id.split('.').map(Number);
    return {layer: ofOther, head: inOther, compare: partner + layer + '.' + head};
  }

  // Documents with the same tokens keep the pinned pair and the window.
  function go(number) {
    const {documents, state} = headwise;
    const {list} = documents;
    const same = list[number].same_tokens === list[state.wished().document].same_tokens;
    state.set({document: number, ...heads(number),
               ...(same ? {} : {query: null, key: null, size: 0, row: 0, column: 0})});
  }

  // The document `step` places further, or the text if two documents of one are side by side;
  // wraps around at the end.
  function move(step) {
    const {list} = headwise.documents;
    const {view, document} = headwise.state.wished();
    const texts = view === 'head' && list.length > 2 && besides();
    const number = (document + (texts ? 2 * step : step) + list.length) % list.length;
    go(number);
    headwise.live.say(headwise.documents.numbering(number) + headwise.tokens.short(
        headwise.documents.about(list[number]), 200));
  }

  function tools() {
    const {t, documents, state} = headwise;
    if (!documents.several) return null;
    const kind = documents.kind();
    const step = (id, text, by) => button(id, text, () => move(by), {class: 'wide'});
    return make('div', {class: 'tools', role: 'group', 'aria-label': t('document.choose_' + kind)},
        field('document', t('document.choose_' + kind),
            choice({id: 'document'}, state.get().document, documents.choices(),
                value => go(Number(value)))),
        step('previous-document', t('document.previous_' + kind), -1),
        step('next-document', t('document.next_' + kind), 1));
  }

  headwise.documentTools = {tools, move, go};
}
