-- ARGV: ids or keys. Returns for each its id and state, '' where there is none.
local reply = {}
for i, ref in ipairs(ARGV) do
  local id = resolve(ref) or ''
  reply[i] = { id, state_of(id) or '' }
end
return reply
