import type { Config } from '../../config/config.ts'
import type { QueueSystem } from '../../queue/queue-system.ts'
import type { App } from '../app.ts'

/** `wrong`: somebody must act. `look`: it works, but somebody may want it otherwise. */
export type FindingLevel = 'ok' | 'look' | 'wrong'

/** What is known of one thing that has to be well, and what to do where it is not. */
export interface Finding {
  readonly about: string
  readonly level: FindingLevel
  readonly says: string
  /** A command or a setting; null where there is nothing to do. */
  readonly todo: string | null
}

export interface DoctorDeps {
  readonly app: App
  readonly queue: Pick<QueueSystem, 'kind' | 'facts' | 'counts' | 'jobs'>
  /** The configuration as it was given: what is unset there is embedded. */
  readonly given: Config
}

export function ok(about: string, says: string): Finding {
  return { about, level: 'ok', says, todo: null }
}

export function look(about: string, says: string, todo: string): Finding {
  return { about, level: 'look', says, todo }
}

export function wrong(about: string, says: string, todo: string): Finding {
  return { about, level: 'wrong', says, todo }
}
