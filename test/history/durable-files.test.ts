import { expect, it } from 'vitest'
import { writeFlushed } from '../../src/history/durable-files.ts'

it('a file of an export fails when the disk is full, also while its writer waits', async () => {
  const full = writeFlushed('/dev/full', async (out) => {
    out.write('x'.repeat(100_000))
    await new Promise(() => undefined)
  })

  await expect(full).rejects.toThrow(/ENOSPC/)
})
