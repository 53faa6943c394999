// Each query's largest attention weights, as the forward pass counted them: exact,
// at any length.
{
  async function of(head) {
    const {count, block} = head.top;
    const data = await headwise.blocks.buffer(block);
    const number = headwise.page.num_queries * count;
    const keys = new Int32Array(data, 0, number);
    const weights = new Float32Array(data, 4 * number, number);
    return {of: query => {
      const pairs = [];
      for (let n = query * count; n < (query + 1) * count; ++n) {
        if (keys[n] >= 0) pairs.push([keys[n], weights[n]]);
      }
      return pairs;
    }};
  }

  headwise.top = {of};
}
