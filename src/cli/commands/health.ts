import type { Command } from 'commander'
import { type Commands, help, load } from '../describe.ts'

export const COMMANDS: Commands = { status: addStatus, doctor: addDoctor }

function addStatus(program: Command): void {
  help(program, {
    examples: ['--watch'],
    remark: `
Exits with 1 if something is WRONG: an operator must act. A warning is worth
knowing. /docs/runbooks of the API has a section about each of them.`,
  })
    .option('--watch', 'repeat every two seconds until Ctrl-C')
    .action(load('status', 'printStatus'))
}

function addDoctor(program: Command): void {
  help(program, {
    remark: `
The checks of "status", and those that take more time: locks, clocks, roles, the
disk, settings of Redis and of this shell. Changes nothing and does not call the
upstream. Exits with 1 if something is WRONG: an operator must act.`,
  }).action(load('doctor', 'diagnose'))
}
