import { type ProofOfWork, solvePow } from "../../sdk/src/pow.js";

// One proof of work at a time; the page ends the worker afterwards.
onmessage = (e: MessageEvent<ProofOfWork>) => {
  solvePow(e.data).then(
    (solution) => postMessage({ solution }),
    (error: unknown) => postMessage({ error: String(error) }),
  );
};
