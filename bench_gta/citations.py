"""The papers of GTA and of GTA-2, as BibTeX."""

ATOMIC = """\
@inproceedings{wang2024gta,
  title = {{GTA}: A Benchmark for General Tool Agents},
  author = {Wang, Jize and Ma, Zerun and Li, Yining and Zhang, Songyang and Chen, Cailian and Chen, Kai and Le, Xinyi},
  booktitle = {Advances in Neural Information Processing Systems, Datasets and Benchmarks Track},
  year = {2024},
  eprint = {2407.08713},
  archivePrefix = {arXiv},
}"""

WORKFLOW = """\
@misc{wang2026gta2,
  title = {{GTA-2}: Benchmarking General Tool Agents from Atomic Tool-Use to Open-Ended Workflows},
  author = {Wang, Jize and Liu, Xuanxuan and Li, Yining and Zhang, Songyang and Wang, Yijun and Shan, Zifei
            and Le, Xinyi and Chen, Cailian and Guan, Xinping and Tao, Dacheng},
  year = {2026},
  eprint = {2604.15715},
  archivePrefix = {arXiv},
}"""
