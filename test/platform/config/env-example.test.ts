import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { expect, it } from 'vitest'
import { loadConfig } from '../../../src/platform/config/config.ts'
import { COMMON_SETTINGS } from '../../../src/platform/config/settings.ts'

const EXAMPLE = readFileSync(new URL('../../../.env.example', import.meta.url), 'utf8')
/** A setting in the example: its description and its default, both as comments. */
const SETTING = /^# (?<about>.+)\n#(?<name>[A-Z_]+)=(?<preset>.*)$/gm

it('.env.example has every common setting, in order, with its description and default', () => {
  const shown = [...EXAMPLE.matchAll(SETTING)].map(({ groups }) => ({ ...groups }))

  expect(shown).toEqual(
    Object.entries(COMMON_SETTINGS).map(([name, { about, secret, preset }]) => ({
      about: secret ? `${about}; or ${name}_FILE` : about,
      name,
      preset: String(preset ?? ''),
    })),
  )
})

it('.env.example sets nothing unless edited', () => {
  expect(parseEnv(EXAMPLE)).toEqual({})
})

it('.env.example with all lines uncommented gives the default configuration', () => {
  const allSet = parseEnv(EXAMPLE.replace(/^#(?=[A-Z])/gm, ''))

  expect(new Set(Object.keys(allSet))).toEqual(new Set(Object.keys(COMMON_SETTINGS)))
  expect(loadConfig(allSet, '/nowhere')).toEqual(loadConfig({}, '/nowhere'))
})
