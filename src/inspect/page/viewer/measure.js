// What pictures and numbers show: attention weights, or how much each key adds to the
// output, its attention weight times the norm of what the head makes of it
// (docs/attribution.md).
{
  const {make, choice} = headwise.dom;
  const {isPattern} = headwise.mask;
  const ALL = ['attention', 'norm'];
  const ROUNDING = 2 ** -23;  // of a product in binary32, relative, with its norm

  const isNorm = () => headwise.state.get().measure === 'norm';

  // Those that all documents with these numbers have.
  const common = numbers => ALL.filter(name => name === 'attention' || numbers.every(
      number => (headwise.documents.list[number].measures || []).includes(name)));

  // -> Promise of the factor of each key; null if attention weights are shown.
  const factors = async head => isNorm() ? headwise.blocks.floats(head.norms) : null;

  // Makes the attention weights of cells (queries x keys) what is shown; their errors, too.
  async function apply(head, keys, values, errors) {
    const norms = await factors(head);
    if (norms === null) return;
    for (let n = 0; n < values.length; ++n) {
      if (isPattern(values[n])) continue;
      const norm = norms[keys[n % keys.length]];
      values[n] *= norm;
      if (errors) errors[n] = errors[n] * norm + values[n] * ROUNDING;
    }
  }

  // Norms have no largest number, so their colours always end at the largest shown.
  const fitted = () => headwise.state.get().fit || isNorm();

  // Words that differ: those for norms have names of their own.
  const word = (name, ...values) => headwise.t(name + (isNorm() ? '_norm' : ''), ...values);

  function tools() {
    const {t, state} = headwise;
    const names = common(state.documents());
    if (names.length < 2) return null;
    return make('span', {class: 'field'}, make('label', {for: 'measure'}, t('measure.label')),
        choice({id: 'measure'}, state.get().measure,
            names.map(name => [name, t('measure.' + name)]), measure => state.set({measure})));
  }

  // To the next one, by a key.
  function next() {
    const names = common(headwise.state.documents());
    const {measure} = headwise.state.get();
    const chosen = names[(names.indexOf(measure) + 1) % names.length];
    if (chosen === measure) return;
    headwise.state.set({measure: chosen});
    headwise.live.say(headwise.t('measure.' + chosen));
  }

  const note = () => isNorm() ?
    make('p', {class: 'note', id: 'measure-note'}, headwise.t('measure.about')) : null;

  headwise.measure = {ALL, isNorm, common, factors, apply, fitted, word, tools, next, note};
}
