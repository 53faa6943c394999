// Chooses the document in view.
{
  const {make, choice} = headwise.dom;

  // Documents with the same tokens keep the pinned pair and the window.
  function go(number) {
    const {documents, state} = headwise;
    const {list} = documents;
    const same = list[number].same_tokens === list[state.wished().document].same_tokens;
    state.set({document: number,
               ...(same ? {} : {query: null, key: null, size: 0, row: 0, column: 0})});
  }

  // The document `step` places further; wraps around at the end.
  function move(step) {
    const {list} = headwise.documents;
    const number = (headwise.state.wished().document + step + list.length) % list.length;
    go(number);
    headwise.live.say(number + ': ' + headwise.tokens.short(
        headwise.documents.about(list[number]), 200));
  }

  function tools() {
    const {t, documents, state} = headwise;
    if (!documents.several) return null;
    const kind = documents.kind();
    const button = (id, text, step) =>
        make('button', {type: 'button', class: 'wide', id, onclick: () => move(step)}, text);
    return make('div', {class: 'tools', role: 'group', 'aria-label': t('document.choose_' + kind)},
        make('span', {class: 'field'},
            make('label', {for: 'document'}, t('document.choose_' + kind)),
            choice({id: 'document'}, state.get().document, documents.choices(),
                value => go(Number(value)))),
        button('previous-document', t('document.previous_' + kind), -1),
        button('next-document', t('document.next_' + kind), 1));
  }

  headwise.documentTools = {tools, move, go};
}
