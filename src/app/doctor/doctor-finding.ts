import type { Config } from '../../platform/config/settings.ts'
import type { QueueSystem } from '../../platform/queue/queue-system.ts'
import type { App } from '../app.ts'

/** `wrong`: an operator must act. `warning`: the system works, but an operator may want to change something. */
export type FindingLevel = 'ok' | 'warning' | 'wrong'

/** The result of one check, and what to do if it is not ok. */
export interface Finding {
  readonly about: string
  readonly level: FindingLevel
  readonly says: string
  /** A command or a setting; null if there is nothing to do. */
  readonly todo: string | null
}

export interface DoctorDeps {
  readonly app: App
  readonly queue: QueueSystem
  /** The configuration as given. Stores that it does not set are embedded. */
  readonly given: Config
}

export function ok(about: string, says: string): Finding {
  return { about, level: 'ok', says, todo: null }
}

export function warning(about: string, says: string, todo: string): Finding {
  return { about, level: 'warning', says, todo }
}

export function wrong(about: string, says: string, todo: string): Finding {
  return { about, level: 'wrong', says, todo }
}
