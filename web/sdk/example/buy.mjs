// Buys one unit from Node 20 or later: node buy.mjs http://127.0.0.1:8080 spring "$(sluice token --user alice)"
import { Sluice } from "@sluice-sale/sdk";
import { solvePow } from "@sluice-sale/sdk/pow";

const [baseURL, id, token] = process.argv.slice(2);
const sale = new Sluice({
  baseURL,
  token,
  device: "buy.mjs",
  solve: async ({ type, data }) => {
    if (type !== "pow") throw new Error(`a person has to solve a ${type}`);
    return solvePow(data);
  },
});
const claim = await sale.claim(id, { onProgress: ({ step }) => console.error(step) });
console.log(claim.state === "confirmed" ? `got it: ${claim.order_id ?? claim.coupon_code}` : `no: ${claim.code}`);
