// Gradient times attention: how much F, the number that the gradients are of, moves with
// each attention weight, to first order (docs/attribution.md).
//
//   gradient of a pair = scale d_context[query] . value[key]
//
// d_context and value are binary16. The error that this causes is bounded for each pair.
{
  const {make} = headwise.dom;
  const PRODUCT = 2.01 * 2 ** -11;  // two roundings to binary16, relative to the product
  const SUBNORMAL = 2 ** -25;       // error of a number below binary16's normal range
  const KEPT = 32 * 1024 * 1024;    // bytes of query and key

  async function read({page, gradient}) {
    const {blocks, half} = headwise;
    const [query, key] = await Promise.all([gradient.query, gradient.key].map(
        async block => half.widen(new Uint16Array(await blocks.buffer(block)))));
    return {query, key, dim: query.length / page.num_queries, scale: gradient.scale};
  }

  const recent = new headwise.Recent(
      KEPT, read, ({query, key}) => query.byteLength + key.byteLength);

  // -> Promise of (query, key) => [the gradient by their attention weight, its error].
  async function known(head) {
    const {query, key, dim, scale} = await recent.of(head);
    return (i, j) => {
      let [sum, large, small] = [0, 0, 0];
      for (let d = 0, a = i * dim, b = j * dim; d < dim; ++d, ++a, ++b) {
        const product = query[a] * key[b];
        sum += product;
        large += Math.abs(product);
        small += Math.abs(query[a]) + Math.abs(key[b]);
      }
      return [scale * sum, scale * (PRODUCT * large + SUBNORMAL * small)];
    };
  }

  // The same without the error.
  async function factor(head) {
    const {query, key, dim, scale} = await recent.of(head);
    return (i, j) => {
      let sum = 0;
      for (let d = 0, a = i * dim, b = j * dim; d < dim; ++d, ++a, ++b) sum += query[a] * key[b];
      return scale * sum;
    };
  }

  // The sum over the queries for each key, and the pooled map if the page holds it.
  const columns = head => headwise.blocks.floats(head.gradient.columns);
  const small = ({gradient: {small: block}}) =>
    block === null ? null : headwise.blocks.floats(block);

  // What F is.
  function target() {
    const {t, page, numbers, tokens} = headwise;
    if (!page.target) return null;
    const {label, token, output_token: output, value} = page.target;
    if (label === null && token === null) return t('gradient.length', numbers.text(value));
    return [label === null ? t('gradient.token', output) : t('F is the logit of the label'), ' ',
      make('strong', {}, tokens.node(label === null ? token : label, true)),
      ' = ' + numbers.text(value) + '.'];
  }

  headwise.gradient = {known, factor, columns, small, target};
}
