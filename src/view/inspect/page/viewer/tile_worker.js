// The worker's code: attention weights of an area, from q, k and LSE.
{
  // Sent to the worker as text, so it uses nothing from outside.
  function workerMain(halves, weightsOf) {
    const KEPT = 6;  // heads
    const heads = new Map();

    const widen = buffer => Float32Array.from(new Uint16Array(buffer), n => halves[n]);

    function keep(message) {
      heads.set(message.head, {
        ...message.options, query: widen(message.query), key: widen(message.key),
        lse: new Float32Array(message.lse), firstQuery: 0, firstKey: 0,
      });
      if (heads.size > KEPT) heads.delete(heads.keys().next().value);
    }

    self.onmessage = ({data}) => {
      if (data.query) keep(data);
      const head = heads.get(data.head);
      if (!head) {
        self.postMessage({id: data.id, missing: true});
        return;
      }
      if (!data.area) return;
      const made = weightsOf(head, data.area, data.withErrors);
      self.postMessage({id: data.id, made},
          [made.values.buffer].concat(made.errors ? [made.errors.buffer] : []));
    };
  }

  headwise.tileWorkerText = () => `'use strict'; (${workerMain})(` +
      `(${headwise.half.halfTable})(), ${headwise.computed.weightsOf});`;
}
