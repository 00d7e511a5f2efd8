import path from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

// Workers and the processes that tests start keep what V8 has compiled: a farewatch process then starts in half the time.
process.env.NODE_COMPILE_CACHE ??= path.join(import.meta.dirname, 'node_modules/.cache/compiled')

/** Tests that take several minutes each: `npm run test:nightly`. */
const NIGHTLY = ['test/**/*.nightly{,.pg}.test.ts']
/** Tests of real processes, real time or simulated worlds that take half a minute or more: `npm run test:long`. */
const LONG = ['test/{chaos,soak}/**/*.test.ts', 'test/**/*.long{,.pg}.test.ts']
/** They take minutes, or are short files of long tests. If one began last, the others would have ended long before. */
const FIRST = /page\.long|up\.long|postgres-outages|commands\.nightly/

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isFirst = ({ moduleId }: TestSpecification) => (FIRST.test(moduleId) ? 0 : 1)
    return (await super.sort(files)).toSorted((a, b) => isFirst(a) - isFirst(b))
  }
}

/** Packages have tests of their own. */
const PACKAGES = '**/node_modules/**'

const STORES = { globalSetup: ['test/support/stores-setup.ts'] }

export default defineConfig({
  test: {
    // Node imports the files itself, as in production, and the files of a worker share their imports. A file must leave
    // process-wide state (environment, timers, spies) as it found it.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    isolate: false,
    maxWorkers: 3,
    // Tests make much that is soon garbage: a twentieth of the time.
    execArgv: ['--max-semi-space-size=32'],
    sequence: { sequencer: LongestFirst },
    // Limits for what hangs. A busy machine must not reach them.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    projects: [
      // All of them in the same workers: each worker compiles the program once.
      {
        extends: true,
        test: {
          name: 'quick',
          include: ['test/**/*.test.ts'],
          exclude: [PACKAGES, ...LONG, ...NIGHTLY],
          ...STORES,
          sequence: { groupOrder: 1 },
        },
      },
      // Those of them that need no store.
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [PACKAGES, 'test/**/*.pg.test.ts', ...LONG, ...NIGHTLY],
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'long',
          include: LONG,
          exclude: NIGHTLY,
          // Most of them wait most of the time.
          maxWorkers: 4,
          ...STORES,
          sequence: { groupOrder: 2 },
        },
      },
      // They measure memory and blocks of the event loop: each is alone in its process.
      {
        extends: true,
        test: {
          name: 'nightly',
          include: NIGHTLY,
          isolate: true,
          ...STORES,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
})
