import { readFile } from 'node:fs/promises'
import { describe, expect } from 'vitest'
import { it } from '../../support/test-database.ts'
import { generateTables } from './generate-tables.ts'

describe('src/platform/db/tables.ts', () => {
  it('is what `npm run db:types` writes for the migrated database', async ({ db }) => {
    const committed = await readFile(
      new URL('../../../src/platform/db/tables.ts', import.meta.url),
      'utf8',
    )

    expect(committed).toBe(await generateTables(db))
  })
})
