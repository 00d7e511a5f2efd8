import { AppError } from '../base/errors.ts'
import { sql } from '../db/database.ts'
import type { App } from './app.ts'

const EVERY_MS = 5_000
/** A private server that is silent for as long has died: nobody else will start it again. */
const FAILURES = 4

/** The private database has died under a running process. */
export class EmbeddedGoneError extends AppError {
  override readonly name = 'EmbeddedGoneError'
  override readonly code = 'embedded.gone'
  override readonly retryable = true

  constructor() {
    super(
      'the embedded PostgreSQL no longer answers: start farewatch again, which starts it again; no data is lost',
    )
  }
}

/** Rejects with EmbeddedGoneError once the private database has been silent for some time; pends until the signal. */
export function watchEmbedded({ database, clock }: App, signal: AbortSignal): Promise<never> {
  const watch = async (): Promise<never> => {
    for (let failures = 0; ; ) {
      await clock.sleep(EVERY_MS, signal)
      const answered = await sql`select 1`.execute(database.db).then(
        () => true,
        () => false,
      )
      failures = answered ? 0 : failures + 1
      if (failures === FAILURES) throw new EmbeddedGoneError()
    }
  }
  return watch().catch((err: unknown) => {
    if (signal.aborted) return new Promise<never>(() => undefined)
    throw err
  })
}
