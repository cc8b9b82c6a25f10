import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { solvePow } from "../dist/pow.js";

for (const salt of ["a", "s".repeat(50), "0123456789abcdef0123?expires=1796094677&x=", "盐".repeat(40), "x".repeat(128)]) {
  for (const number of [0, 7, 4321, 99_999]) {
    test(`the number ${number} under a salt of ${salt.length}`, async () => {
      const challenge = createHash("sha256").update(salt + number).digest("hex");
      const p = { algorithm: "SHA-256", challenge, salt, maxnumber: 100_000, signature: "s" };
      const solution = JSON.parse(Buffer.from(await solvePow(p), "base64").toString());
      assert.deepEqual(solution, { algorithm: "SHA-256", challenge, number, salt, signature: "s" });
    });
  }
}

test("a challenge without a solution", async () => {
  const p = { algorithm: "SHA-256", challenge: "0".repeat(64), salt: "a", maxnumber: 10, signature: "" };
  await assert.rejects(solvePow(p));
  await assert.rejects(solvePow({ ...p, algorithm: "SHA-1" }));
});
