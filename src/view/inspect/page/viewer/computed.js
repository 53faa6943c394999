// Attention weights that the page computes from q, k and LSE:
//
//   s = scale q.k,  softcap c: c tanh(s / c),  T5: s + t5[steps up to j - i - query_start],
//   ALiBi: s - slope |i + query_start - j|
//   attention weight = exp(s - lse)         sums in binary64; masks are applied elsewhere
//
// q and k are binary16. The error that this causes is bounded for each pair from its own
// q and k.
{
  const HERE = 2 ** 21;  // multiplications; with more, the worker computes

  // Weights of queries [a, b), keys [c, d): {values, errors}. `head.query` and `head.key`
  // begin with rows `firstQuery` and `firstKey`.
  // Also sent to the worker as text, so it uses nothing from outside.
  function weightsOf(head, [fromQuery, toQuery, fromKey, toKey], withErrors) {
    const PRODUCT = 2.01 * 2 ** -11;  // two roundings to binary16, relative to the product
    const SUBNORMAL = 2 ** -25;       // error of a number below binary16's normal range
    const FLOAT = 8 * 2 ** -24;       // some roundings in binary32, in the true weight itself
    const {query, key, lse, lseError, dim, scale, softcap, t5, t5Steps, alibi, start,
           firstQuery, firstKey} = head;
    const columns = toKey - fromKey;
    const values = new Float32Array((toQuery - fromQuery) * columns);
    const errors = withErrors ? new Float32Array(values.length) : null;
    // T5's bias of each offset of the area, from that of the last query to the first key on.
    const firstOffset = fromKey - (toQuery - 1) - start;
    const biases = new Float64Array(t5 ? toQuery - fromQuery + columns : 0);
    for (let n = 0, step = 0; n < biases.length; ++n) {
      while (step < t5Steps.length && t5Steps[step] <= firstOffset + n) ++step;
      biases[n] = t5[step];
    }
    for (let i = fromQuery, at = 0; i < toQuery; ++i) {
      const rowLse = lse[i - firstQuery];
      if (rowLse === -Infinity) {
        at += columns;
        continue;
      }
      for (let j = fromKey; j < toKey; ++j, ++at) {
        let sum = 0;
        let large = 0;  // sum over the products
        let small = 0;  // sum over the elements
        let a = (i - firstQuery) * dim;
        let b = (j - firstKey) * dim;
        for (let d = 0; d < dim; ++d, ++a, ++b) {
          const product = query[a] * key[b];
          sum += product;
          if (withErrors) {
            large += Math.abs(product);
            small += Math.abs(query[a]) + Math.abs(key[b]);
          }
        }
        let score = scale * sum;
        if (softcap) score = softcap * Math.tanh(score / softcap);
        const bias = t5 ? biases[j - i - start - firstOffset] : 0;
        score += bias;
        if (alibi) score -= alibi * Math.abs(i + start - j);
        values[at] = Math.exp(score - rowLse);
        if (withErrors) {
          const off = lseError + Math.abs(scale) * (PRODUCT * large + SUBNORMAL * small) +
              FLOAT * (1 + Math.abs(score) + Math.abs(bias) + Math.abs(rowLse));
          errors[at] = values[at] * Math.expm1(off);
        }
      }
    }
    return {values, errors};
  }

  // What the formula needs besides q, k and LSE.
  function options(head) {
    const {page} = head;
    return {
      dim: page.head_dim, scale: page.scale, softcap: page.softcap, lseError: head.lse_error,
      t5: head.t5, t5Steps: page.t5_steps, alibi: head.alibi, start: page.query_start,
    };
  }

  // The same for one pair, from q.k to the score: each step as [name, score, how].
  function scoreSteps(head, dot, offset) {
    const {t, numbers: {text: n}} = headwise;
    const {scale, softcap, t5, t5Steps, alibi} = options(head);
    const steps = [[t('dot product'), dot, '\u03a3 q \u00d7 k'],
      [t('scaled'), scale * dot, '\u00d7 ' + n(scale)]];
    const add = (name, step, how) => steps.push([name, step(steps.at(-1)[1]), how]);
    if (softcap) {
      add(t('softcap'), s => softcap * Math.tanh(s / softcap),
          `${n(softcap)} tanh(s / ${n(softcap)})`);
    }
    if (t5) {
      const bias = t5[t5Steps.filter(step => step <= offset).length];
      add(t('T5 bias'), s => s + bias, `+ ${n(bias)} (${t('elements.offset', offset)})`);
    }
    if (alibi) {
      add(t('ALiBi'), s => s - alibi * Math.abs(offset),
          `\u2212 ${n(alibi)} \u00d7 ${Math.abs(offset)}`);
    }
    return steps;
  }

  async function here(head, area, withErrors) {
    const {blocks, half} = headwise;
    const {page} = head;
    const [query, key, lse] = await Promise.all([
      blocks.buffer(head.query), blocks.buffer(head.key), blocks.floats(head.lse)]);
    const rows = (data, from, to) => half.widen(new Uint16Array(
        data, 2 * page.head_dim * from, page.head_dim * (to - from)));
    return weightsOf({
      ...options(head), query: rows(query, area[0], area[1]), key: rows(key, area[2], area[3]),
      lse: lse.subarray(area[0], area[1]), firstQuery: area[0], firstKey: area[2],
    }, area, withErrors);
  }

  // -> Promise of {values, errors} for a head with q, k and LSE.
  function area(head, [fromQuery, toQuery, fromKey, toKey],
                {urgent = true, withErrors = true} = {}) {
    const work = (toQuery - fromQuery) * (toKey - fromKey) * head.page.head_dim;
    const whole = [fromQuery, toQuery, fromKey, toKey];
    return work <= HERE ? here(head, whole, withErrors) :
        headwise.tiles.compute(head, whole, {urgent, withErrors});
  }

  headwise.computed = {weightsOf, options, scoreSteps, area};
}
