import { Option } from 'commander'

/** `--table`, of every command that works on a table. */
export function tableOption(): Option {
  return new Option('--table <name>', 'table, instead of the configured one')
}
