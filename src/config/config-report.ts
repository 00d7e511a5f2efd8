import { type Config, SETTINGS } from './config.ts'
import type { Setting } from './settings.ts'

export interface ConfigLine {
  readonly name: string
  /** Redacted; null where unset. */
  readonly value: string | number | null
  readonly default: boolean
  readonly about: string
}

/** The configuration as it may be shown: secrets as `[set]`, URLs without their password. */
export function redactedConfig(config: Config): ConfigLine[] {
  return Object.entries(SETTINGS).map(([name, setting]: [string, Setting<unknown>]) => {
    const value = config[name as keyof Config]
    return {
      name,
      value: value === undefined ? null : setting.secret ? redacted(setting, value) : value,
      default: value === setting.preset,
      about: setting.about,
    }
  })
}

function redacted(setting: Setting<unknown>, value: string | number): string {
  return setting.shown?.(String(value)) ?? '[set]'
}
