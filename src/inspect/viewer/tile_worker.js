// What runs in the worker: attention weights of a tile from q, k and LSE.
//
//   s = scale q.k,  softcap c: c tanh(s / c),  ALiBi: s - slope |i + query_start - j|
//   attention weight = exp(s - lse)         sums in binary64; masks are not its matter
{
  // Runs as text in the worker: it names nothing from outside.
  function workerMain(halves) {
    const KEPT = 6;  // heads
    const heads = new Map();

    const widen = buffer => Float32Array.from(new Uint16Array(buffer), n => halves[n]);

    function keep(message) {
      heads.set(message.head, {
        ...message.options, query: widen(message.query), key: widen(message.key),
        lse: new Float32Array(message.lse),
      });
      if (heads.size > KEPT) heads.delete(heads.keys().next().value);
    }

    function tile(head, [fromQuery, toQuery, fromKey, toKey]) {
      const {query, key, lse, dim, scale, softcap, alibi, start} = head;
      const columns = toKey - fromKey;
      const out = new Float32Array((toQuery - fromQuery) * columns);
      for (let i = fromQuery; i < toQuery; ++i) {
        const row = (i - fromQuery) * columns;
        if (lse[i] === -Infinity) continue;
        for (let j = fromKey; j < toKey; ++j) {
          let sum = 0;
          for (let d = 0, a = i * dim, b = j * dim; d < dim; ++d, ++a, ++b) {
            sum += query[a] * key[b];
          }
          let score = scale * sum;
          if (softcap) score = softcap * Math.tanh(score / softcap);
          if (alibi) score -= alibi * Math.abs(i + start - j);
          out[row + j - fromKey] = Math.exp(score - lse[i]);
        }
      }
      return out;
    }

    self.onmessage = ({data}) => {
      if (data.query) keep(data);
      const head = heads.get(data.head);
      if (!head) {
        self.postMessage({id: data.id, missing: true});
        return;
      }
      if (!data.area) return;
      const out = tile(head, data.area);
      self.postMessage({id: data.id, out}, [out.buffer]);
    };
  }

  headwise.tileWorkerText = () =>
    `'use strict'; (${workerMain})((${headwise.half.halfTable})());`;
}
