// What pictures and numbers show: attention weights; how much each key adds to the output,
// its attention weight times the norm of what the head makes of it; or gradient times
// attention, which has a sign (docs/attribution.md).
{
  const {make} = headwise.dom;
  const {isPattern} = headwise.mask;
  const ALL = ['attention', 'norm', 'gradient'];
  const ROUNDING = 2 ** -23;  // of a product in binary32, relative, with its norm

  const shown = () => headwise.state.get().measure;
  // Are attention weights shown as they are?
  const plain = () => shown() === 'attention';
  // Do the numbers have a sign?
  const signed = () => shown() === 'gradient';

  // Those that all documents with these numbers have.
  const common = numbers => ALL.filter(name => name === 'attention' || numbers.every(
      number => (headwise.documents.list[number].measures || []).includes(name)));

  // -> Promise of (query, key) => what their attention weight is multiplied by; null if it is
  // shown as it is.
  async function factor(head) {
    if (plain()) return null;
    if (signed()) return headwise.gradient.factor(head);
    const norms = await headwise.blocks.floats(head.norms);
    return (query, key) => norms[key];
  }

  // The same with the error: [factor, error].
  async function known(head) {
    if (signed()) return headwise.gradient.known(head);
    const norms = await headwise.blocks.floats(head.norms);
    return (query, key) => [norms[key], 0];
  }

  // Makes the attention weights of cells (queries x keys) what is shown; their errors, too.
  async function apply(head, queries, keys, values, errors) {
    if (plain()) return;
    const of = await (errors ? known : factor)(head);
    for (let n = 0; n < values.length; ++n) {
      if (isPattern(values[n])) continue;
      const [query, key] = [queries[Math.floor(n / keys.length)], keys[n % keys.length]];
      if (!errors) {
        values[n] *= of(query, key);
        continue;
      }
      const [by, error] = of(query, key);
      const weight = values[n];
      values[n] = weight * by;
      errors[n] = errors[n] * (Math.abs(by) + error) + weight * error +
          Math.abs(values[n]) * ROUNDING;
    }
  }

  // What each key gets from all queries: the mean of what is shown, or its sum if numbers have
  // a sign.
  async function keys(head, means) {
    if (signed()) return headwise.gradient.columns(head);
    const found = await means();
    if (plain()) return found;
    const norms = await headwise.blocks.floats(head.norms);
    return found.map((mean, key) => mean * norms[key]);
  }

  // -> Promise of the pooled map that the page holds, or null.
  function small(head) {
    if (signed()) return headwise.gradient.small(head);
    return head.norm_small === undefined ? null : headwise.blocks.floats(head.norm_small);
  }

  // Cells are pooled by the mean alone where the page holds no other pooled map, and where
  // numbers have a sign.
  const meanOnly = () => signed() || (!plain() && headwise.page.coding.kind === 'tiles');
  const pool = () => meanOnly() ? 'mean' : headwise.state.get().pool;

  // Only attention weights have a largest number, so other colours end at the largest shown.
  const fitted = () => headwise.state.get().fit || !plain();

  // Has each tile among others its own end, or do all end at the largest in any?
  const own = () => plain() ? headwise.state.get().fit : headwise.state.get().own;

  // A number that is shown, with its error, if any.
  const text = (value, error) => plain() && headwise.numbers.tiny(value) ||
      headwise.numbers.known(value, error);

  // Words that differ have names of their own.
  const word = (name, ...values) =>
    headwise.t(plain() ? name : name + '_' + shown(), ...values);

  function tools() {
    const {t, state} = headwise;
    const names = common(state.documents());
    if (names.length < 2) return null;
    return headwise.chooser('measure', t('Show'),
        names.map(name => [name, t('measure.' + name)]));
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

  const note = () => plain() ? null : make('p', {class: 'note', id: 'measure-note'},
      headwise.t('measure.about_' + shown()), signed() && [' ', headwise.gradient.target()]);

  headwise.measure = {ALL, plain, signed, common, factor, apply, keys, small, meanOnly, pool,
                      fitted, own, text, word, tools, next, note};
}
