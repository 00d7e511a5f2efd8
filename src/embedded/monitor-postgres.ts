import type { App } from '../app/app.ts'
import { untilAborted } from '../app/liveness.ts'
import { AppError, messageOf } from '../platform/base/errors.ts'
import type { ServerState, Supervision } from './postgres.ts'
import { EmbeddedPostgresError } from './postgres-errors.ts'

const CHECK_MS = 2_000
/** A server that is recovering answers no query for some seconds. */
const SILENT_CHECKS = 10
/** A server that dies more often within an hour dies for a reason that a restart does not end, such as a full disk. */
const RESTARTS = 3
const RESTARTS_WITHIN_MS = 3_600_000

/** The embedded PostgreSQL died and restarts do not help, or it does not answer. */
class EmbeddedDiedError extends AppError {
  override readonly name = 'EmbeddedDiedError'
  override readonly code = 'embedded.died'
  override readonly retryable = true

  constructor(what: string, reason: string) {
    super(`the embedded PostgreSQL ${what}; no data is lost, start farewatch again. ${reason}`)
  }
}

/**
 * Restarts the server of this process when it dies, at most three times in an hour. Rejects with EmbeddedDiedError,
 * after the reason is logged, when it died once more or does not answer for about 20 s. Ends with the signal.
 */
export function monitorPostgres(
  postgres: Pick<Supervision, 'check' | 'restart'>,
  { clock, log }: Pick<App, 'clock' | 'log'>,
  signal: AbortSignal,
): Promise<never> {
  let restartsMs: number[] = []
  let silent = 0
  const end = (what: string, reason: string): never => {
    log.fatal({ reason }, `embedded postgres ${what}`)
    throw new EmbeddedDiedError(what, reason)
  }
  const restart = async (reason: string) => {
    const nowMs = clock.now().getTime()
    restartsMs = restartsMs.filter((atMs) => nowMs - atMs < RESTARTS_WITHIN_MS)
    if (restartsMs.length === RESTARTS) end(`died and ${RESTARTS} restarts did not help`, reason)
    restartsMs.push(nowMs)
    log.error({ restart: restartsMs.length, reason }, 'embedded postgres died: restarting it')
    await postgres.restart().then(
      () => log.info('embedded postgres restarted'),
      (err: unknown) => log.error({ reason: messageOf(err) }, 'embedded postgres did not start'),
    )
  }
  const react = async (state: ServerState) => {
    silent = state.kind === 'silent' ? silent + 1 : 0
    if (state.kind === 'deleted') throw new EmbeddedPostgresError('deleted', state.reason)
    if (state.kind === 'died') await restart(state.reason)
    if (state.kind === 'silent' && silent === SILENT_CHECKS) end('does not answer', state.reason)
  }
  const monitor = async (): Promise<never> => {
    for (;;) {
      await clock.sleep(CHECK_MS, signal)
      await react(await postgres.check())
    }
  }
  return untilAborted(monitor(), signal)
}
