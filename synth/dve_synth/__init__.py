"""Area and speed of the units on an FPGA, by open tools: Yosys maps, nextpnr places and routes.

In the order of the way: `units` says what can be measured, `flow` runs the tools on it, `report`
reads what they say, `measure` brings the seeds together. The registers around a unit are
`dve_rtl.harness`.
"""
