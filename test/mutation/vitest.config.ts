import { defineConfig } from 'vitest/config'

/**
 * The tables of the parts that Stryker changes: properties and simulations take seconds for each change. Stryker changes
 * a file while it is imported, so Vite imports the files, not Node.
 */
export default defineConfig({
  test: {
    include: [
      'test/delivery/delivery-rules.test.ts',
      'test/faults/verify-answers.test.ts',
      'test/fares/{availability-states,decide,mass}.test.ts',
      'test/routes/guard.test.ts',
      'test/schedule/{claim-capacity,score}.test.ts',
      'test/upstream/read-verify-answer.test.ts',
    ],
    isolate: false,
    // The limit is for what hangs: a busy machine must not reach it.
    testTimeout: 180_000,
  },
})
