import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['test/**/*.test.ts'], exclude: ['test/**/*.pg.test.ts'] },
      },
      {
        extends: true,
        test: {
          name: 'stores',
          include: ['test/**/*.pg.test.ts'],
          globalSetup: ['test/support/stores-setup.ts'],
          maxWorkers: 4,
        },
      },
    ],
  },
})
