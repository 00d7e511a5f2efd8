import { resealEndpoints } from '../../delivery/endpoints/sealer.ts'
import { withApp } from '../context.ts'
import type { ProgramOptions } from '../describe.ts'
import { countOf } from '../text/text-format.ts'

export function reseal(options: ProgramOptions): Promise<void> {
  return withApp({ role: 'endpoints', options }, async ({ database, sealer }, { terminal }) => {
    const resealed = await resealEndpoints(database.db, sealer)
    terminal.print({ resealed }, () => `${countOf(resealed, 'endpoint')} encrypted again`)
  })
}
